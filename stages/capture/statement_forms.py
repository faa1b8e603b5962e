"""The forms in which people state a rule, a choice or a preference, and those in which they do not.

Each is read in a sentence without what it quotes. They come from messages written for this
(``perf/data/captures``), and must say nothing of a single project.
"""

from __future__ import annotations

import re

from ...config.patterns import regex
from ..language.words import FROM_NOW_ON, TAKES_BACK

# Such a sentence goes on with a talk, and says nothing without what was said before it.
FRAGMENT = regex(
    r"^\W*(?:no+|nope|nah|yes|yep|yeah|ye|ok(?:ay)?|and|but|so|or|also|plus|then|only|at least"
    r"|stays?|not|both|same|either|neither|those|these|that|this|that's|its?|it's|they|they're|he"
    r"|she|him|her|hm+|well|exactly|right|correct|good|fine|the (?:rest|others?|same|first|second"
    r"|latter|former|one))\b"
    r"|^(?:\W*\w[\w'-]*(?:[^\w'-]\W*\w[\w'-]*){0,3})?\W++(?:it|its|they|them|he|she|him|those|these|ours|theirs|that|this)\b"
    r"(?!\W+(?:[a-z]\w{3,}|for good\b))"
    r"|\bthat's (?:the|a|our) (?:rule|way|point|idea|deal)\b"
    r"|^\W*(?:always|never)\W+(?:\w+ed|kept|shown|sent|done|made|given|full|empty|raw|first|last|in|on"
    r"|at|by|the|a)\b",
    re.IGNORECASE,
)
# So begins a sentence that says why what was said before it is so.
GIVES_REASON = regex(
    r"^\W*(?:(?:not )?because|the reason|reason:|otherwise|or else|nobody (?:has|ever|\w+ed)"
    r"|no one (?:has|ever|\w+ed)|(?:they|it) (?:lives?|belongs?|goes|go|stays?|breaks?|must"
    r"|ha(?:s|ve) to))\b",
    re.IGNORECASE,
)
# So ends a sentence that states something and then asks for something else, or says who wanted it.
ASIDE = regex(
    r",? (?:can|could|would|will) you\b[^.!]*$|, \w+ (?:complained|insisted"
    r"|asked(?: for it)?|wanted (?:it|that|this))\W*$",
    re.IGNORECASE,
)
# So a sentence makes a rule of the one before it.
MAKES_A_RULE = regex(
    r"^\W*(?:that|this)(?:'s| is) (?:how we|what we|the way we|the rule|our rule)\b"
    rf"(?=.*\b(?:{FROM_NOW_ON}|rule|always|here|in future)\b)",
    re.IGNORECASE,
)
# So a rule begins whose subject the sentence before it has: "new rule: above 6 degrees".
HALF_A_RULE = regex(
    r"^\W*(?:(?:new|house|hard|team) )?(?:rule|convention|policy): ?"
    r"(?:(?:only )?(?:above|below|over|under|from|after|within|up to|at (?:least|most))|\d)",
    re.IGNORECASE,
)
FEWEST_WORDS, FEWEST_WORDS_OUTRIGHT = 6, 4
"""Of a sentence of fewer words the subject is mostly somewhere else."""

_SAYS_SO = (
    r"says?|said|asks?|asked|wants?|wanted|thinks?|thought|claims?|claimed|wrote|writes|suggests?"
    r"|suggested|recommends?|recommended|insists?|insisted|argues?|argued|proposes|proposed"
    r"|mentions?|mentioned"
)
# In such a sentence somebody asks, wonders, proposes, reports, quotes, or means this once.
VETOES = tuple(
    regex(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:complain\w*|angry|annoy\w+|furious|i wan(?:na|t to)|i(?:'d| would) like to|i need to"
        r"|we(?:'ll| will) (?:ship|release|merge|start|fix|talk|see|look|wait|discuss))\b",
        r"\brather (?:have )?you (?:first |just |now )?(?:investigate|look|check|dig|start|begin|go"
        r"|continue|finish|fix|try|find|analy[sz]e|debug|explore|search)\b(?!.*\b(?:always|never"
        rf"|every|each|whenever|{FROM_NOW_ON}|in general|before you)\b)",
        r"\bi(?:'ll| will|'m| am) (?:(?:be|not|always|mostly|usually|only) )*"
        r"(?:working (?:from|at|in|remotely|part|on \w+days?)|from home|at home|in the office|off"
        r"|away|out of|on (?:leave|holiday|vacation|call)|back on|reachable|available)\b",
        r"[?？]\W*$",
        r"^\W*(?:(?:and|so|but|ok|hm+|btw|also|or|well|sorry)[ ,]+)*(?:what|what's|why|how|where"
        r"|who|whose|which|any idea|do|does|did|is|are|was|were|can|could|would|should|shouldn't"
        r"|shall|will|has|have|had|am|isn't|aren't)\b(?! not\b)",
        r"\b(?:maybe|perhaps|probably|possibly|might|could|would (?!rather|prefer|like)|wouldn't"
        r"|seems?|i (?:think|guess|suppose|assume|believe|wonder|suspect|bet)|my (?:guess|feeling)"
        r"|not sure|unsure|not convinced|leaning|lean towards|tempted|thinking (?:about|of)|suppose"
        r"|supposing|assuming|what if|let's say|hypothetically|in theory|ideally|one option"
        r"|an option|some ?day|at some point|eventually|sooner or later|haven't|hasn't|undecided"
        r"|not decided|open again|up for discussion|depends|pros and cons|vielleicht|peut-être"
        r"|quizás|tal vez|sollen wir|sollten wir)\b",
        r"^\W*(?:(?:and|so|but|ok|then)[ ,]+)*(?:if|unless|once|until|before) (?:we|you|i|it"
        r"|they|the|this|that|legal|all)\b(?!.*\b(?:always|never)\b)",
        r"\bif (?:we|i|it|they|that|this|possible|you (?:like|want|think|have))\b",
        r"\b(?:for now|right now|for the moment|at the moment|for the time being|for a (?:moment"
        r"|sec|while|bit)|this (?:time|once|one|pr|branch|commit|run|round|file|function|test|line"
        r"|class|ticket|task|issue|week|sprint|case|demo|module|method|page|screen|change|script"
        r"|query)|these (?:two|three|files|tests|lines)|just (?:this|once|for)|for the demo"
        r"|temporar\w+|only today|today only|tomorrow|tonight|yet|in a hurry|until (?:i|we|the"
        r"|they)\b|erstmal|por ahora|pour l'instant|vorerst)\b",
        r"\b(?:used to|originally|initially|back (?:then|in)|years? ago|months? ago|last (?:year"
        r"|job|company|sprint)|in 20\d\d|(?:previous|former|old|my last|other) (?:team|job|company"
        r"|employer|place|agency|project)|at the time|once decided|at my|elsewhere)\b",
        r"\b(?:he|she|they|somebody|someone|people|everybody|boss|manager|customers?|clients?"
        r"|users?|consultants?|vendor|docs?|documentation|readme|wiki|ticket|story|article|book"
        r"|blog\w*|stack ?overflow|linter|compiler|eslint|pylint|audit|spec|comment|guide"
        r"|(?!Always\b)(?-i:[A-Z][a-z]+)) "
        rf"(?:also |always |still |just |once )?(?:{_SAYS_SO}|propose|prefers?|preferred|told"
        r"|hopes?|wishes|keeps|tells?|states?|requires?|likes?|hates?)\b",
        r"(?<!')\b(?!(?:we|i|you|always|never|only|no|longer|to|stop|if)\b)[a-z]+ "
        rf"(?:also |always |still )?(?:{_SAYS_SO})\b",
        r"\b(?:according to|apparently|supposedly|allegedly|rumou?r|i (?:read|heard|saw)|told me"
        r"|quote|quoted|as (?:a|an) \w+,? i want)\b",
        r"\b(?:laut (?:dem |der )?\w+|steht (?:im|in|auf)|(?:im|in der|auf der) [\w.-]+ steht"
        r"|(?:selon|d'après) (?:l[ea]s? |l')\w|según (?:el|la|los|las) \w|segundo [oa]s? \w)",
        r"^\W*(?:here(?:'s| is) )?(?:the |a )?(?:summary|gist|abstract|excerpt|tl;?dr)"
        r"(?: (?:of|from))? [^:]{1,80}:|^\W*(?:as )?per (?:the|his|her|their|this)\b",
        r"\b(?!(?:my|our)\b)(?:\w+'s|the|his|her|their) (?:answer|reply|suggestion|proposal|advice"
        r"|recommendation|review|opinion)(?: (?:was|is|were|says|reads))?:",
        r"\b(?:was|were|got|been) (?:later |then |since )?(?:reverted|rolled back|undone|overturned"
        r"|withdrawn|overruled)\b",
        r"\bword (?:on the street|is that|has it)\b"
        r"|^\W*(?:\w+ )?(?:message|mail|note|comment) (?:from|by) [^:,]{1,40}:"
        r"|^\W*from (?:the |our )?(?:jira|slack|github|confluence|notion|wiki|readme|docs?|handbook"
        r"|ticket|issue|changelog)\b[^:,]{0,40}:",
        r",? (?:says|said|claims|claimed|writes|wrote|insists|argues|reads|states) "
        r"(?:the|a|an|our|my|their|his|her|[A-Z]\w+)(?: [\w.-]+){0,3}\W*$",
        r"\b(?:meint|behauptet|sagt|schreibt|glaubt), ",
        r"\b(?:le|la|mon|ma|notre|l')\s?\w+ (?:dit|affirme|pense|prétend|écrit) qu[e']"
        r"|\b(?:which|that) (?:is|was|turned out(?: to be)?|proved) (?:wrong|false|outdated|untrue"
        r"|incorrect|obsolete|a mistake)\b",
        r"\b(?:we|i) had (?:\w+ )?(?:decided|agreed|chosen|settled|opted|picked)\b",
        r"\b(?:forget about|ignore what|i was wrong|my mistake|disregard|haha|lol|:\))",
        r"^\W*(?:(?:please|pls|now|can you|and|then|also)[ ,]+)*(?:acceptance|requirements?"
        r"|user story|as (?:a|an)|todo|compare|evaluate|benchmark|summari[sz]e|draft|translate"
        r"|rephrase|explain|answer the|list the|write (?:a|an|the|some|me)|add|create|implement"
        r"|generate|build|put"
        rf"|make)\b(?!.*\b(?:{FROM_NOW_ON}|always|whenever|every time)\b)",
        r"\b(?:user story|acceptance criteria|requirement)\b",
        r"\b(?:the plan was|the idea was|nobody knows)\b",
        r"\b(?:blocked|waiting for|still (?:have|need) to (?:decide|choose|pick|agree)"
        r"|decide (?:later"
        r"|tomorrow|on|by|after|whether|between)|we'll (?:see|decide|discuss|talk)|next week we"
        r"|not (?:yet|final)|isn't final|is due|to be (?:decided|discussed|continued))\b",
        r"\b(?:never|always|every|all) (?:mind|seen|heard|knew|had|nice|worked|understood"
        r"|understand"
        r"|know|forget|forgot|tests? (?:pass|fail|are)|green|good|crash\w*|fails?|breaks?|happen\w*"
        r"|returns?|gets?|shows?|takes?|finish\w*|load\w*|expires?|starts?|ends?|day|time i)\b",
        r"\b(?:we|i|you) (?:never|always) (?:\w+ed|got|had|saw|knew|did|were|was|went|wrote)\b",
        r"\b(?:nothing|anything|no one|nobody) (?:was |is |has been )?(?:decided|agreed)\b",
        r"\b(?:don't|didn't|did not|do not|never) (?:decide|agree|choose|know|understand|see|get"
        r" (?:it|why|how)|think|care|remember|prefer|worry|panic|forget)\b",
        r"[:：]\W*$",
        r"\bnot (?:saying|that)\b|\b(?:decided|agreed) (?:nothing|already|nicht)\b",
    )
)

# How people state a choice, a rule or a preference: with these it is one unless the model objects.
_CHOOSES = (
    r"keep|keeps|keeping|drop|drops|dropping|stay|stays|staying|stick|sticks|sticking|switch"
    r"|switching|standardi[sz]e|standardi[sz]ing|retire|retiring|replace|replacing|abandon|adopt"
    r"|adopting|ditch|ditching|migrat(?:e|ing)|mov(?:e|ing)"
)
_DOES = (
    r"use|using|ship|shipping|deploy|deploying|support|supporting|store|storing|run|running|write"
    r"|writing|publish|publishing|build|building|host|hosting|do|doing|take|taking|put|putting"
    r"|serve"
    r"|target|implement|go|going|pin|cache|send|render|generate|need|release|test|sign|call|treat"
)
_CONTRAST = (
    r"(?:,? ?\bnot\b|\binstead\b|\brather than\b|\bno longer\b|\bany ?more\b|\bany longer\b"
    r"|\bonly\b|\bfor good\b|\bover\b|\bexclusively\b|\bbecause\b|\bsince\b|, (?:no|never)\b)"
)
# Without it, the sentence may say all by itself. "Then" mostly begins the next step.
JOINS = regex(
    r"\W*(?:(?:(?:right|alright|well|good|fine|yes|yep|yeah|exactly)"
    rf"(?=[,.:]*\s+(?:and |so |then |ok,? )*(?:we|i|{FROM_NOW_ON})\b)"
    r"|and|also|so(?! (?:far|that|much|many|long)\b)|plus(?=,)|ok(?:ay)?(?! buttons?\b)"
    r"|hm+|ah|btw|fyi|by the way|for the record|thanks|thx|small thing(?=:)"
    r"|one (?:more )?thing(?=:)"
    r"|then(?=.*"
    + _CONTRAST
    + r"))[,.:;…]*\s+(?:[–—-]+\s+)?(?:(?:since|while|as) we're at it,? )?)+"
    r"(?=\w)",
    re.IGNORECASE,
)
_FORMS = {
    "decision": (
        r"\b(?:we|i|team|it|was|were|have|has|been|is|final(?:ly)?|ok|alright)(?:'ve|'s|'re)?,? "
        r"(?:have |has |had |all |just |also |finally |now |been |then )*(?:decided|agreed|settled"
        r"|opted|chose|chosen|picked)\b(?=(?:\W+\w+){2})",
        r"^\W*(?:final |last )?(?:decision|verdict|decided|settled|resolved|agreed)\b"
        r"(?: for the record)? ?[:,–—-]",
        r"^\W*(?:decision|decided|settled|agreed) (?:with|by) \w+(?: and \w+)? ?:",
        r"\blet's go with (?!(?:it|that|this|the|option|your|plan|a|b)\b)\w",
        r"\bwe(?:'re| are)? (?:leav(?:e|ing)) .{2,60} and (?:go|move|switch)(?:ing)? to\b",
        r"\bwe(?:'ve| have)?(?: just)? (?:moved|switched|migrated) from \S.{1,60} to \S",
        r"\bwe(?: now)? no longer \w+",
        r"\b(?:is|are) now \w.{3,80}\binstead of\b",
        r"^\W*no [\w-]+(?: \w+)? at all\b",
        r"\b(?:made up (?:my|our) minds?|settle (?:it|this|that) (?:for good|once and for all))"
        r" ?[:,–—-](?=(?:\W+\w+){3})",
        r"\blet's standardi[sz]e on\b",
        r"\bwe(?:'ll| will) \w+ .{2,120}?(?:,| and) never \w+",
        r"\b(?:we|i|we all|the team)(?:'re|'ll|'m| will| are| am)? (?:now |then |just "
        r"|definitely )*"
        r"(?:go|going|went) (?:with|for|back to)\b",
        rf"\b(?:go|going) (?:with|w/|for) .{{2,60}}{_CONTRAST}",
        rf"\bwe(?:'re|'ll| will| are| won't| will not| aren't| do not"
        rf"| don't)? (?:not )?(?:going to )?"
        rf"(?:now |then |also |just |all |definitely )*(?:{_CHOOSES})\b(?! (?:it|this|that) \w+$)",
        rf"\bwe(?:'re|'ll| will| are| won't| will not| aren't| do not| don't"
        rf"|'d)? (?:not )?(?:going to )?"
        rf"(?:now |then |also |just |all |only )*(?:{_DOES})\b.{{2,120}}{_CONTRAST}",
        r"\bwe (?:will not|won't|are not going to|aren't going to|will only|'ll only|only) \w+",
        rf"\blet's (?:use|go|do|keep|stick|settle|drop|make|standardi[sz]e|store"
        rf"|put)\b.*{_CONTRAST}",
        r"\b(?:is|are) (?:out(?! (?:of|in|today|sick|until|till|for|on|at)\b)|off the table"
        r"|dead|final|settled|cancelled|deprecated)\b",
        r"\b\w+ it is(?: then)?\b(?=[,.;:!]|\W*$| (?:because|since|for))",
        r"\b(?:wins over|replaces|gets? replaced by|is replaced by|takes over from"
        r"|no longer supports?|supersedes)\b",
        r"\bi(?:'ve)? (?:choose|chose|picked|pick)\b(?! the (?:wrong|smaller|bigger|larger))",
        r"\b(?:stays?|remains?) (?:on|with|at|in)\b",
        r"\b(?:wir (?:nehmen|bleiben|verwenden|benutzen|haben (?:uns )?(?:entschieden|beschlossen))"
        r"|on (?:part sur|garde|utilise|a décidé)|vamos con|usamos|nos quedamos con|hemos decidido"
        r"|vamos usar|decidimos)\b",
        r"(?:决定|改用|に決め|ことにし)",
    ),
    "pattern": (
        rf"\b(?:{FROM_NOW_ON}|from (?:this point|today) (?:on|onwards?)"
        r"|as of"
        r" (?:today|now)|starting (?:today|now)|in (?:the )?future|ab (?:jetzt|sofort)"
        r"|in zukunft|künftig|désormais|à partir de maintenant|de ahora en adelante"
        r"|a partir de agora"
        r"|daqui em diante|今后|以后)",
        r"\b(?:as a (?:rule|habit|convention)|hard rule|house rule|new rule|(?:our|the"
        r"|team) (?:rule|policy|convention)|by convention|no exceptions?|without exception"
        r"|no matter what|non-negotiable|we require|is mandatory|are mandatory|is forbidden"
        r"|are forbidden|is banned|are banned|(?:not|only) allowed|is not optional|sans exception"
        r"|ausnahmslos)\b",
        r"^\W*(?:(?:new|house|hard|team) )?(?:rule|convention|policy)"
        r"(?: (?:of|for|in) [^:.]{1,50})?: ?\w",
        r",? (?:ever|always|every time|each time|everywhere)\W*$",
        r"^\W*(?:(?:please|pls|and|also|but|ok|remember|btw|note|reminder|one more thing|oh|yes"
        r"|no)\b[ ,:]+)*"
        r"(?:always|never|don't ever|do not ever|only ever|at no point)\b(?! (?:the|a|an|been|again"
        r"|ever|so|did|does))",
        r"^\W*(?:(?:please|and|also|but|ok|remember|btw|note|reminder|because|since"
        r"|as)\b[ ,:]+)*(?:every|each|all|any|no) (?:[\w/.'-]+,? ){1,6}?(?:get|gets|need|needs"
        r"|must|must not|has to|have to|may|goes? (?:in|into|through|to|under|via)|lives?"
        r"|comes? from|starts? with|ends? with|belongs?|owns?|(?:is|are) (?:always|never|stored"
        r"|named|written|wrapped|pinned|kept|versioned|signed|reviewed|validated|logged|prefixed"
        r"|formatted|lowercase|singular|plural|in|done|made)|should"
        r" (?:always|never)|follows?|uses?|inherits?|extends?|returns?|takes?|carr(?:y|ies))\b",
        r"\bwe (?:always|never|only ever|generally|usually|dont|don't|do not) (?!know|have|need"
        r"|want|see|care|understand|think|like|love|really|even|get|remember|mind|agree|yet)\w+",
        r"\b(?:in|for|throughout|across) (?:this|our|the whole|the entire"
        r"|all (?:of )?our) (?:repo\w*|codebase|code base|project|monorepo|code|service|org|team"
        r"|packages?|services|modules)\b.*"
        r"(?:always|never|\bno\b|don't|must|\bonly\b|\bwe\b|\buse\b|\bare\b|\bis\b|\bgo\b|\bput\b"
        r"|\bkeep\b)",
        r"\b(?:always|never|no|don't|only|must|use)\b.* (?:in|for|throughout|across) (?:this|our"
        r"|the whole)"
        r" (?:repo\w*|codebase|code base|project|monorepo|code|service|org)\b",
        r"\b(?:nobody|no one) (?:(?!(?:has|was|is|does|knows|needs|wants|likes|cares|minds|uses"
        r"|calls|understands|remembers|trusts)\b)"
        r"\w+s|may|should|is allowed)\b",
        r"\b(?:must|has to|have to|needs to|may|should|can) (?:always|never|only)\b.*\b(?:pr"
        r"|commit|test|migration|endpoint|module|package|class|function|review|branch|service"
        r"|handler|release)s?\b",
        r"\b(?:every|each) (?:new |single )?(?:pr|pull request|commit|migration|endpoint|service"
        r"|module|handler|component|test|table|model|release|branch|change|feature|bug ?fix"
        r"|package|function|class|job|script|env var|dependency|query|route|view|screen|hook"
        r"|lambda|worker|queue)s? "
        r"(?:\w+ ){0,5}?(?:gets?|needs?|must|has|have|goes|comes|lives|belongs|starts|owns)\b",
        r"\b(?:go|goes|live|lives|belong|belongs) (?:into|in|under|next to|to"
        r"|through)\b.*,? (?:not|never)\b",
        r"^\W*(?:new|all new) \w+ (?:always |must |need to |should always )*(?:go|goes|get|gets"
        r"|live|start|use|have|are|come)\b",
        r"\bonly (?:from|in|on|via|through|by|with|over|after) [^,]{2,40}, (?:never|not)\b",
        r"\b(?:are|is|should be|must be|get|gets) always\b|\balways (?:in|go|goes|through|via|with"
        r"|live)\b",
        r"\b(?:immer|niemals|nie|toujours|jamais|siempre|nunca|sempre)\b",
    ),
    "preference": (
        r"\bi(?:'d| would|'ll)? (?:really |always |generally |usually |much |strongly |personally "
        r"|still )*"
        r"(?:prefer|rather (?:have|see|read|you|use|get|be|keep|we))\b(?! (?:the (?:first|second"
        r"|third|other|last|left|right|one|old|new)|it|this|that|option|a|b)\b)",
        r"\b(?:my (?:preference|taste|style|rule)|(?:that's|it's) how i (?:like|want))\b",
        r"\bi (?:really |absolutely |just )*(?:hate|dislike|can't stand|cannot stand|don't like"
        r"|am not a fan"
        r" of|'m not a fan of|like|love|don't want|do not want|want|always want|need) (?:it when"
        r"|when|to see"
        r" (?:no|any)|you to (?:always|never)|my|your|\w+s\b|\w+ (?:commits?|functions?|names?"
        r"|answers?|tests?|messages?|comments?|sentences?|types?|files?|methods?|prs?))",
        r"\bi'm not a fan of\b|\bdrives me (?:crazy|mad|nuts)\b",
        r"\b(?:when|whenever|every time|before|each time) (?:you|i) \w+.*,? ?(?:always|never"
        r"|please|give|tell"
        r"|ask|show|don't|do not|use|add|run|start|go|keep|write|first|make|i want|i mean|leave)\b",
        r"\b(?:ask me|check with me|tell me|show me)\b.*\b(?:before|first|always|when"
        r"|whenever)\b.*\b(?:you|anything|any|always|guess\w*)\b",
        r"^\W*(?:please |pls |and )*stop (?!the\b|it\b|that\b|this\b|here\b)\w+ing\b",
        r"\b(?:please|pls),? (?:always|never|don't ever)\b",
        r"\b(?:never|don't|do not) .*\bwithout (?:asking|checking with|telling|my)\b",
        r"\b(?:ich (?:bevorzuge|mag|möchte|will) |je préfère|prefiero|prefiro|no quiero que)",
    ),
}
QUOTED = regex(r"`[^`\n]*`|[\"“„«][^\"”“»\n]{1,300}[\"”“»]|(?<!\w)'[^'\n]{8,300}'(?!\w)")
# What comes before or after it in a message can take a statement back, or make it a question.
DOUBTS = regex(
    r"\b(?:(?:(?:oh |hm+,? |no,? |or )?(?:wait(?! (?:a (?!sec|min|mom)|an|for|until|one|two|\d))"
    r"|hold on)|actually,? (?:no|scratch|forget|let|wait|not|never|that|i)|forget what|ignore my"
    r"|kidding|not final|let me (?:think|check|sleep)|i'm not sure|not sure|need to think"
    r"|still open|to be (?:decided|confirmed)|no decision|undecided|or not)\b"
    rf"|{TAKES_BACK})",
    re.IGNORECASE,
)
ASKS_BACK = regex(
    r"^\W*(?:(?:or|and|but|so)[ ,]+)*(?:right|ok|okay|agree\w*|agreed|thoughts|opinions?"
    r"|what do you|what would(?! the [^?？]{1,60} look like)|what's your"
    r"|does (?:that|this|it)|do you|is (?:that|this|it)"
    r"|are (?:there|you)|would|could (?:that|this|we)|should|any (?:objections?|concerns?"
    r"|downsides?)|or|no|wdyt|makes? sense|sounds?|sane|good idea|bad idea|what if|how about"
    r"|what about|why not)\b.*[?？]\W*$|\bwdyt\b",
    re.IGNORECASE,
)
DENIES = regex(
    r"^\W*(?:(?:but|and|however|aber) |no, )*(?:that|this|das)(?: \w+)?(?:'s| is| was| ist| war)"
    r"(?: \w+){0,2} (?:wrong|false|outdated|incorrect|obsolete|reverted|undone|withdrawn|a mistake"
    r"|falsch|veraltet)\b"
    r"|^\W*(?:(?:but|and|however) )?(?:that|this)"
    r"(?: isn't| wasn't|(?:'s| is| was) (?:not|no longer))(?: \w+)? true\b",
    re.IGNORECASE,
)
# With these the speaker names others, and speaks for themselves nevertheless.
SPEAKS_FOR_SELF = regex(
    r"\baccording to (?:our|my)(?: \w+)?"
    r" (?:measure\w+|benchmarks?|tests?|numbers|figures|data|experiments?|analysis|results?"
    r"|metrics|profiling|traces)\b"
    r"|,? \bas (?:the |our )?\w+ (?:had |has )?(?:suggested|recommended|proposed|advised)(?=\W*$|,)"
    r"|^\W*(?!(?:the|our|customer|client|vendor|it|he|she|they|somebody|someone)\b)\w+ insists: "
    r"(?=.*\b(?:always|never|only)\b(?!.*\bbut\b))"
    r"|^[^,]{1,80}, but (?=(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled|opted)\b)",
    re.IGNORECASE,
)
SUPPOSES = regex(
    r"\b(?:imagine|suppose|supposing|assum(?:e|ing)|hypothetical\w*|let's (?:say|pretend)|what if"
    r"|example|e\.g\.|for instance|as a joke|thought experiment|play(?:ing)? devil|in an ideal"
    r"|someone (?:says|said)|as an? \w+,? i want)\b",
    re.IGNORECASE,
)
LEADS_TO_RULES = regex(
    rf"\b(?:rules?|conventions?|decid\w*|decisions?|prefer\w*|always|never|{FROM_NOW_ON}|remember"
    r"|agreed"
    r"|style|guidelines?|standards?|policy|policies|in (?:the )?future|habits?"
    r"|principles?"
    r"|keep in mind|ground rules|don'ts?|we (?:settled|chose))\b",
    re.IGNORECASE,
)
SAYS = {
    kind: regex("|".join(f"(?:{form})" for form in forms), re.IGNORECASE)
    for kind, forms in _FORMS.items()
}
# A form that says in so many words that it is one: the model's doubt weighs less.
OUTRIGHT = regex(
    r"\bi(?:'d)? (?:really |always |generally |much |strongly |personally )*prefer\b"
    r"|\bi (?:really |absolutely )*(?:hate|dislike|can't stand|don't like|always want)\b"
    r" (?!this|it|that|these|the|how|to)"
    r"|\bi always (?:want|need) (?!this|it|that|these|to)"
    r"|\bmade up (?:my|our) minds?\b|\bsettle (?:it|this|that) (?:for good|once and for all)\b"
    r"|\blet's standardi[sz]e on\b"
    r"|\b(?:don't|do not|never) ever\b|\b(?:please|pls),? (?:always|never)\b"
    r"|^\W*(?:final )?decision(?: for the record)? ?[:,–—-]|\bi'd rather you (?:ask|tell|check)"
    r"|\blet's go with\b|\bwe (?:leave|moved|switched|migrated) .{2,60} to\b"
    rf"|\b(?:{FROM_NOW_ON}|no exceptions?|my preference is)\b"
    r"|\bwe(?:'ve| have)?(?: just| finally| now| all)? (?:decided|agreed) (?:to|on|that|against"
    r"|in)\b",
    re.IGNORECASE,
)
# With one of these alone the model decides.
HINT = regex(
    r"^\W*(?:please |and |also )*(?:no|don't|dont|do not|keep|use|prefer|leave|only|give|answer"
    r"|call)\b"
    r"|\b(?:instead of|rather than|in general|generally|we use|we only|must|everywhere"
    r"|by default)\b"
    r"|\b(?:one|two) \w+ per \w+\b",
    re.IGNORECASE,
)
MINE = regex(
    r"\b(?:i|i'd|i'm|i'll|me|my|mine|your (?:answers?|replies|explanations?)|answers?"
    r"|explanations?|emojis?|apologi[sz]e|summar(?:y|ies)|ich|mir|je|prefiero|prefiro|quiero)\b",
    re.IGNORECASE,
)
