"""The phrases that speak for or against a statement being worth keeping; one table for all.

A row is a cue and its phrases: runs of at most four words, lower case, with ``<c>`` for a name from
code, ``<n>`` for a number and ``^`` for the beginning of a statement. A phrase is evidence, never a
verdict: ``stages/capture/signals.json`` says what each cue weighs.
"""

from __future__ import annotations

_ROWS: tuple[tuple[str, str], ...] = (
    (
        "decision",
        "we decided|i decided|have decided|has decided|is decided|was decided|decided to"
        "|decided on|decided that|decided against|we agreed|was agreed|agreed that|agreed on"
        "|agreed to|team agreed|as agreed|we settled|settled on|it's settled|we opted"
        "|opted for|we chose|i chose|chosen|^ chose|i've chosen|picked|we pick|i took"
        "|i went with|we went with|going with|go with|^ going with|we're going with|stay with"
        "|stays with|staying with|stay on|stays on|stays in|sticking with|stick with|stick to"
        "|we keep|we're keeping|i kept|keep the|we use|we only use|we now use|we will use"
        "|we'll use|we will not|we won't|we aren't|we drop|we dropped|^ dropped|^ decision"
        "|the decision is|our decision|final decision|is out|is off the table|is cancelled"
        "|wins over|the choice is|it is then|it is|in favour of|in favor of|rather than"
        "|instead of|standardise on|standardize on|standardising on|standardizing on"
        "|switch to|switched to|we switch|replaces|moves to|no longer support"
        "|will not support|as discussed|signed off|out of scope|verdict|^ rejected|i rejected"
        "|vetoed|gets removed|we're dropping|ruled out|new rule|from here on|entschieden"
        "|beschlossen|wir bleiben bei|wir nehmen|wir verwenden|statt|nous avons décidé"
        "|on garde|on a décidé|j'ai retenu|retenu|plutôt que|décidé|hemos decidido|decidimos"
        "|en vez de|nos quedamos con|ficou decidido|optei por|em vez de|vamos usar|决 定"
        "|决 定 用|改 用|我 们 用|决 定 了|に 決 め|こ と に し|決 定",
    ),
    (
        "found",
        "til|turns out|turned out|i learned|we learned|i learnt|we learnt|learned that"
        "|learned from|learned today|^ learned|discovered|i noticed|we noticed|found out"
        "|figured out|found it|^ found|i found the|realised|realized|the reason|the cause"
        "|root cause|main cause|cause is|cause was|reason is|is explained|explains why"
        "|that's why|that is why|which is why|this is why|because of that|came from"
        "|comes from|come from|it was the|came down to|had nothing to do|has nothing to do"
        "|not the bottleneck|bottleneck|dominated by|is caused by|was caused by|caused by"
        "|due to|we measured|measured|i measured|profile|profiling|benchmark|insight|finding"
        "|lesson|lessons|learning|takeaway|compared|it shows|showed that|shows that"
        "|the numbers|in fact|actually|herausgefunden|festgestellt|die ursache|lag an"
        "|stellt sich heraus|der grund|venait|la cause|découvert|il s'avère|la causa"
        "|resulta que|descubrí|aprendimos|descobri|a causa|acontece que|原 因|发 现|原 因 は"
        "|判 明|分 か り",
    ),
    (
        "trap",
        "silently|without warning|without a warning|without any error|without an error"
        "|without error|without asking|no error|no warning|careful|watch out|beware|caution"
        "|gotcha|pitfall|trap|surprisingly|surprising|unexpectedly|strangely|weird|odd|oddly"
        "|unlike|contrary to|even if|even though|even when|although|though|despite|whereas"
        "|but not|only when|only if|only works|only triggers|unless|does not|doesn't|don't"
        "|isn't|aren't|never fires|is ignored|are ignored|ignores|ignored|truncates|truncated"
        "|drops|swallows|overwrites|loses|lost|deletes|skips|skipped|fails when|fails on"
        "|breaks|crashes|treats|counts as|as strings|by default|the docs don't|undocumented"
        "|out of order|twice|at least once|on windows|on macos|on safari|on ios|on linux"
        "|in production|in safari|in postgres|in mysql|note that|be aware|aware of|heads up"
        "|fyi|btw|by the way|just so you know|keep in mind|achtung|vorsicht|wichtig"
        "|ohne fehler|obwohl|attention|à noter|sans erreur|bien que|même si|ojo|cuidado"
        "|sin avisar|sin error|aunque|atenção|sem erro|embora|注 意|不 会|即 使|な い",
    ),
    (
        "blocker",
        "blocked by|blocked on|is blocked|are blocked|we're blocked|^ blocked|^ blocker"
        "|blocker|is blocking|blocks the|stuck|is stuck|can't be|cannot be|can't proceed"
        "|cannot proceed|can't continue|cannot continue|cannot go on|can't go on|can't test"
        "|can't run|can't finish|can't verify|can't build|can't deploy|isn't possible"
        "|not possible|impossible|waiting for|waiting on|waits for|wait for|has to wait"
        "|have to wait|is waiting|still no|no access|hasn't enabled|hasn't been|haven't been"
        "|not yet|is missing|are missing|without the|until the|until they|only they"
        "|can only be|is open|is open since|on leave|is down|are down|no date|rejected our"
        "|rejected the|doesn't allow|does not allow|not allowed|prevents|is expired"
        "|has expired|expired|remaining problem|before we can|kommen nicht weiter"
        "|komme nicht weiter|blockiert|fehlt noch|warten auf|nicht möglich|bloqués|bloqué par"
        "|en attente|impossible de|bloqueados|no puedo|no podemos|esperando|todavía no"
        "|bloqueado|não consigo|aguardando|ainda não|无 法|等 待|还 没|被 阻|で き ま せ"
        "|待 ち",
    ),
    (
        "resolution",
        "fixed by|solved by|resolved by|fixed it|fixed the|solved|^ solved|resolved|is fixed"
        "|is solved|are fixed|fixes it|fixes the|solves it|solves the|solution was"
        "|solution is|fix was|fix is|the fix|workaround|went away|goes away|go away|are gone"
        "|is gone|gone since|works again|work again|works now|no longer fails"
        "|no longer crashes|no longer happens|got it working|removes the|cured|green again"
        "|passes again|come back if|had broken|after adding|after setting|after raising"
        "|by setting|by pinning|pinning|was missing|behoben|gelöst|funktioniert wieder"
        "|corrigé|résolu|réglé|solucionado|arreglado|resuelto|resolvido|corrigido|解 决 了"
        "|修 复 了|解 決|直 り",
    ),
    (
        "preference",
        "i prefer|i'd prefer|i would prefer|^ prefer|i'd rather|i would rather|i like"
        "|i don't like|i hate|i dislike|i don't want|i do not want|i want|my preference"
        "|^ always|^ never|please always|please never|always use|always write|always run"
        "|never use|never touch|never commit|don't ever|from now on|in future|in the future"
        "|for the future|next time|whenever you|whenever i|when i say|when you|ask me"
        "|before you|^ don't|^ do not|stop asking|^ no|^ use|^ keep|i always|leave the|to me"
        "|in zukunft|künftig|immer|nie|ich möchte|bitte keine|à l'avenir|toujours|jamais"
        "|je préfère|prefiero|siempre|nunca|de ahora en|prefiro|sempre|daqui em diante|以 后"
        "|总 是|不 要|今 後|い つ も",
    ),
    (
        "progress",
        "^ completed|^ finished|^ shipped|^ released|we shipped|we released|we completed"
        "|is complete|are complete|is finished|is done|milestone|is live|are live|went live"
        "|went out|rolled out|is released|are released|is deployed|in production"
        "|to production|feature complete|tagged|published|passed|migrated|were migrated"
        "|is switched on|is switched off|are shut down|was accepted|all tenants|all services"
        "|all customers|end to end|phase|works end to end|abgeschlossen|ist live"
        "|fertiggestellt|veröffentlicht|terminée|terminé|en ligne|publié|terminada|completada"
        "|en producción|publicada|concluída|no ar|上 线|全 部 完 成|リ リ ー ス",
    ),
    (
        "pattern",
        "pattern|convention|the convention|by convention|rule of thumb|recipe|the way we"
        "|the usual|all new|every new|each new|new ones|for every|for each|all forms"
        "|all handlers|every|each|should use|should copy|must be|has to be|have to be"
        "|must use|needs to be|follow the same|follows the same|the same shape|the same order"
        "|to add a new|whenever a|whenever we|everywhere|throughout|we always|we never"
        "|in this codebase|in this repo|in this project|our rule|inherit|inherits"
        "|goes through|exposes|takes a|muster|konvention|convención|convention est|patrón"
        "|padrão|每 个|统 一|規 約",
    ),
    (
        "debt",
        "debt|technical debt|tech debt|hardcoded|hard-coded|hard coded|hack|stopgap|left over"
        "|leftover|todo|fixme|has to go|must go|should be removed|must be removed|needs to be"
        "|should go|be refactored|be rewritten|be split|be merged|be removed|cleaning up"
        "|clean up|copied|duplicated|won't scale|not maintainable|temporary|quick fix"
        "|for the moment|for later|note for later|some day|later|should be one"
        "|should come from|has to be removed|caveat|is skipped|are skipped|i skipped|i pinned",
    ),
    (
        "context",
        "in this codebase|in our code|here means|means a|means the|when i say|background"
        "|context|for your information|for context|we have about|users|internal"
        "|in our company|is called|are called|customers|only person|the only one|frozen"
        "|deploys|maintenance window|budget|deadline|per day|per minute|requests per",
    ),
    (
        "remember",
        "remember|please remember|remember that|don't forget|for the record|note for"
        "|note to self|keep in mind|heads up|for later|fyi|please note|for your information"
        "|merk dir|à retenir|recuerda|lembre|记 住|覚 え",
    ),
    (
        "reason",
        "because|since|as it|as the|as they|as we|so that|in order to|due to|because of"
        "|therefore|which means|otherwise|so the|so it|so no|so we|the reason|weil|da die"
        "|damit|sonst|denn|deshalb|darum|car|parce que|pour que|porque|ya que|pues|para que"
        "|pois|assim|因 为|所 以|た め|の で",
    ),
    (
        "contrast",
        "but|however|rather|instead|while|not|only|yet|still|unlike|except|aber|mais|pero|mas",
    ),
    (
        "durable",
        "always|never|every|everywhere|all|each|any more|anymore|no longer|from now on|until"
        "|whenever|by default|permanently|forever|nobody|no one|per",
    ),
    (
        "once",
        "this file|this one|this time|for this run|this run|for now|right now|at the moment"
        "|today|just now|just use|just this|once|in a moment|for the first|for a moment"
        "|this function|this class|this test|this line",
    ),
    (
        "narrates",
        "i'll|i will|let me|i'm going to|i am going|^ running|^ now|^ next|^ first|i need to"
        "|i can|^ then|going to|i'm working|in progress|working on|step|of <n>|ich sehe"
        "|je regarde|voy a|vou|i'll start|look at|looking at|checking|i'll look|trying",
    ),
    (
        "did",
        "i added|i've added|i changed|i've changed|i renamed|i've renamed|i moved|i've moved"
        "|i removed|i updated|i've updated|i created|i've created|i fixed|i've fixed"
        "|i converted|i reverted|i split|i've split|i committed|i wrote|i've written"
        "|i adapted|i ran|i checked|i deleted|i restarted|i've pushed|i set|i've set|i use"
        "|i turned|^ added|^ changed|^ renamed|^ removed|^ updated|^ created|^ fixed|^ moved"
        "|^ installed|^ upgraded|^ bumped|^ pushed|^ ran|^ formatted|^ refactored"
        "|^ implemented|^ converted|^ wrote|^ deployed|^ reverted|^ split|^ typed|^ adapted"
        "|^ committed|^ merged|^ deleted|^ done|^ reordered|^ cleaned",
    ),
    (
        "trivial",
        "typo|lint|formatted|whitespace|indentation|unused import|tests pass|tests are green"
        "|all green|is green|are green|is clean|tests added|test passes|all pass|builds"
        "|as you asked|as requested|you asked|you mentioned|tests gr|your call|up to you"
        "|let me know|tell me|nothing else",
    ),
    (
        "hedge",
        "maybe|perhaps|probably|possibly|might|may be|could be|could|would|seems|seem|i think"
        "|i guess|my guess|i assume|assume|suppose|suspect|i wonder|wondering|in theory"
        "|not sure|no idea|thinking about|was wondering|one could|one day|at some point"
        "|i'd lean|i'd suggest|i suggest|lean towards|lean to|idea was|haven't found"
        "|not convinced|undecided|sounds like|vielleicht|möglicherweise|eventuell|peut-être"
        "|quizás|tal vez|talvez|也 许|可 能|か も",
    ),
    (
        "condition",
        "^ if|^ suppose|^ should|if we|if you|if i|^ when|^ wenn|^ falls|^ si|^ se|^ once"
        "|^ unless|^ before|whether",
    ),
    (
        "denied",
        "haven't decided|not decided|hasn't decided|no decision|nobody decided|didn't decide"
        "|not blocked|nothing is blocked|blocked by nothing|isn't blocked|not that i"
        "|don't prefer|not saying|no result|learned nothing|we haven't|haven't confirmed"
        "|nothing fixed|not implement|did not|didn't|i don't know|nothing is|no blocking",
    ),
    (
        "orders",
        "can you|could you|please|pls|start with|have a look|take a look|show me|add a"
        "|make the|let's|we need|write a|fix the|now please|go ahead|continue|kannst du|bitte"
        "|peux-tu|puedes|pode",
    ),
    (
        "others",
        "says|said|told me|suggested|according to|docs say|someone|somebody|thinks|my boss"
        "|a friend|they write|recommends|recommended|i read|the readme|blog post"
        "|in the old company|you said|the comment|the docs|the log|mentions|wants",
    ),
    (
        "speaks",
        "thanks|thank you|sorry|great|lol|haha|nice|perfect|ok ok|ugh|finally|sure|got it"
        "|understood|you're right|good catch|merci|danke|gracias|obrigado|谢 谢|あ り が と",
    ),
    (
        "explains",
        "takes a|returns the|returns a|is loaded from|consists of|makes sure|defines"
        "|represents|is used to|is used in|has the|has two|has four|in short|for example"
        "|the second|is given|means that|you can|to try it|here is|here's|there are"
        "|the difference|the function|this function|the class|the file",
    ),
)


def _by_phrase() -> dict[str, tuple[str, ...]]:
    cues: dict[str, dict[str, None]] = {}
    for cue, row in _ROWS:
        for phrase in row.split("|"):
            cues.setdefault(phrase, {})[cue] = None
    return {phrase: tuple(named) for phrase, named in cues.items()}


CUES_OF = _by_phrase()


def _words(phrase: str) -> list[str]:
    return phrase.removeprefix("^ ").split(" ")


SHORT_PHRASES = frozenset(phrase for phrase in CUES_OF if len(_words(phrase)) <= 2)
"""The phrases of one or two words, with and without ``^``."""
LONG_FROM = frozenset(_words(phrase)[0] for phrase in CUES_OF if phrase not in SHORT_PHRASES)
"""The words that longer phrases begin with."""
