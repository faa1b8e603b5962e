"""What a statement says is no more: "ArgoCD is gone", "moved from PostgreSQL to MySQL".

Read by patterns on a line of folded words and marks, each between two blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...config.patterns import regex
from ..language.time_expressions import MONTHS, SEASONS, UNITS, WEEKDAYS
from ..language.words import FROM_NOW_ON


def _any(words: str) -> str:
    """A pattern for one of ``words``, which are separated by commas."""
    return f"(?:{'|'.join(word.strip() for word in words.split(','))})"


def _words_of(pattern: str) -> str:
    """The longer words of ``pattern``."""
    return " ".join(re.findall(r"[a-z]{4,}", pattern))


_WORD = r"(?![,;:.!?()\u2013\u2014] )[^ ]+"
_ENDS_PHRASE = _any(
    "for,in,on,to,with,as,when,by,and,but,since,because,now,at,so,onto,into,across,was,is,are,were,"
    "has,have,had,which,that,from,after,before,of,if,until,we,it,last,this,anymore,any,instead,"
    "completely,entirely,altogether,everywhere"
)
_NOT_IN_SUBJECT = _any(
    "and,but,since,because,now,so,that,which,we,the,a,an,our,then,after,when,all"
)
# What follows a marker, up to the end of its phrase; what stands before one, from its beginning;
# and one word before it.
_AFTER = (
    rf"(?:support (?:for|of) )?(?:{_any('the,a,an,our,its,their,using,any,all,most')} )*"
    rf"(?P<old>(?:(?!{_ENDS_PHRASE} ){_WORD} ){{1,4}})"
)
_BEFORE = rf"(?P<old>(?:(?!{_NOT_IN_SUBJECT} ){_WORD} ){{1,5}})"
_ONE = rf"(?P<old>{_WORD} )"

_MOVED = _any(
    "moved?,moving,migrated?,migrating,switch(?:ed|ing)?,chang(?:ed?|ing),went,gone,going,port(?:ed)?,"
    "convert(?:ed)?,transition(?:ed)?,upgrad(?:ed?|ing),raised?,lower(?:ed)?,increased?,reduced?,"
    "bump(?:ed)?,cut,dropped,grew,shrunk,renamed?,transferred,handed over,passed,shifted,"
    "relicensed,rewritten,relocated,extended,shortened,widened,narrowed,down,up"
)
_FOR_GOOD = r"(?= (?:$|[^\w ]|(?:and|but|so|now|because|since|as of|for good) ))"
# A state for good; and what is done once, where it is told in the past.
_OVER = _any(
    "gone,dead,history,obsolete,deprecated,retired,discontinued,abandoned,decommissioned,shut down,"
    "switched off,torn down,sunset,phased out,abolished,scrapped,out of the picture,no more,"
    "outdated,disbanded"
    # And not once ("was"), nor each time ("when the patient calls", "by the user").
    + "".join(rf",(?<! was )(?<! were ){word}{_FOR_GOOD}" for word in ("cancelled", "canceled"))
)
_ENDED = _any(
    "removed,dropped,deleted,killed,turned off,replaced,superseded,ditched,thrown out,"
    "archived,closed,lifted,unplugged,dissolved,disappeared,vanished,ended"
)
_IS = _any("is,are,was,were,has been,have been,had been,got,has,have")
_WAS = _any("was,were,has been,have been,had been,got,is being,are being,is now,are now,has,have")
_MEANWHILE = _any("now ,all ,finally ,already ,completely ,long ,since ,") + "?"
_GONE = (
    rf"(?:{_IS} {_MEANWHILE}{_OVER}|{_WAS} {_MEANWHILE}{_ENDED}"
    r"|(?:does|do|did) not exist (?:any ?more|any longer|now))"
)
_DROP = _any(
    "dropped,drop,removed,remove,retired,abandoned,ditched,threw out,thrown out,gave up on,"
    "given up on,got rid of,deleted,killed,stopped using,stop using,stopped,moved off,moving off,"
    "moved away from,moving away from,phased out,deprecated,decommissioned,shut down,switched off,"
    "turned off,tore down,scrapped,unplugged,left behind,said goodbye to,discontinued,sunset,"
    "cancelled,abolished,migrated off,switched away from,away from"
)
# "a deleted project", "deleted users cannot …": these describe, and drop nothing.
_NO_DESCRIPTION = (
    "".join(f"(?<! {word})" for word in "a an the any all of no is are".split())
    + rf"(?!^ {_WORD} (?:{_WORD} ){{1,4}}{_any('is,are,can,cannot,may,must,have,has,get,will')} )"
)
# "Removed the cache from the unit tests" leaves it everywhere else.
_NOT_FROM_A_PART = (
    rf"(?!(?:{_WORD} ){{1,6}}from (?:{_WORD} ){{0,2}}"
    rf"{_any('tests?,fixtures?,docs,documentation,readme,examples?,notebooks?,scripts?')} )"
)
_WHERE = _any("at,on,in,with,by,to,for,under")
_IN_USE = _any("used,in use,needed,supported,maintained,available")
_TAKES = "(?:take|takes|took|taken|taking)"
# What somebody does until somebody else takes it over: neither is given up by itself.
_DUTY = rf"(?:{_any('the,a,an,our,its,their,all')} )*(?P<of>(?:(?!from |over ){_WORD} ){{1,4}})"
_LEFT = _any(
    "(?:has|have|just) (?:left|quit|gone|moved|stepped down),quit,resigned,retired,"
    r"left (?:us|the|for|in|[\x2c;.]),handed (?:over|the|it|this|that),stepped down,"
    r"moved (?:on|to|teams),is on (?:\w+ )?leave,is leaving,goes on leave"
)
_RENAMED = _any("(?:has been|have been|was|were|is|got) (?:now )?renamed,became,has become,goes by")

_PATTERNS = tuple(
    (frozenset(cues.split()), regex(pattern))
    for cues, pattern in (
        ("from", rf" {_MOVED} (?:{_WORD} ){{0,8}}?from {_AFTER}(?:to|onto|into|over|up|down|and) "),
        ("from", rf" from {_AFTER}(?:to|onto|into) (?:{_WORD} ){{1,6}}(?:now|instead) "),
        (
            "instead rather place lieu",
            rf" (?:instead|rather|in place|in lieu) (?:of|than) {_AFTER}",
        ),
        ("over", rf" {_TAKES} over from {_AFTER}"),
        ("over", rf" {_TAKES} over {_DUTY}from {_AFTER}"),
        ("over", rf" {_TAKES} {_DUTY}over from {_AFTER}"),
        ("place", rf" {_TAKES} {_AFTER}place "),
        ("place", rf" in (?!first )(?P<old>(?:the )?{_WORD} )place "),
        ("now", r" (?P<old>\S*[_./@]\S* )(?:is|are) now "),
        (
            "replaced replaces replace replacing swapped supersedes superseded succeeds succeeded",
            r" (?:replac(?:ed?|es|ing)|swapped|supersede[sd]|succeed(?:s|ed)) (?!by |with |for )"
            rf"{_AFTER}",
        ),
        (_words_of(f"{_OVER} {_ENDED} exist"), rf" {_BEFORE}{_GONE} "),
        ("longer", rf" {_BEFORE}(?:is|are) no longer {_IN_USE} "),
        ("longer", rf" (?:is|are) no longer (?:{_WHERE} )?{_AFTER}but "),
        (_words_of(_DROP), rf"{_NO_DESCRIPTION} {_DROP} {_NOT_FROM_A_PART}{_AFTER}"),
        (
            "dropped",
            rf"^(?! (?:if|when|once|on|whenever) ).* , (?:and )?{_ONE}is dropped{_FOR_GOOD}",
        ),
        ("renamed became become goes", rf" {_BEFORE}{_RENAMED} "),
        ("renamed rename", rf" renamed? {_AFTER}(?:to|as|into) "),
        (
            "called named known",
            rf" {_BEFORE}(?:is|are|was|were|has been) (?:now )?(?:called|named|known as) ",
        ),
        ("what", rf" what (?:was|were|used to be) (?:called )?{_AFTER}"),
        ("used", rf" used to be (?:called |named |in |on )?{_AFTER}"),
        ("formerly previously", rf" (?:formerly|previously) (?:called |named |known as )?{_AFTER}"),
        ("left quit resigned retired gone moved stepped handed leave leaving", rf" {_ONE}{_LEFT} "),
        ("left", rf" (?P<old>{_WORD}(?<!s) )left $"),  # and not "20 days left"
        ("left", rf" (?:[,;.(\u2013\u2014]|and|but|as|because|since) {_ONE}left (?=$|[,;.)] )"),
        ("leave departure", rf" {_ONE}(?:leave|departure) "),
        ("not", rf" [,;(\u2013\u2014] (?:and )?not {_AFTER}"),
        ("longer", rf" [,;(\u2013\u2014] (?:and |but )?no longer {_AFTER}"),
        ("-> \u2192", rf" {_BEFORE}(?:->|\u2192) "),
    )
)
TELLS_CHANGE = frozenset().union(*(cues for cues, _ in _PATTERNS))
"""Words of which a line has one if it names what is no more."""

_CHOOSE = _any("chose,choose,chosen,picked,pick,prefer,preferred,favour,favor,selected")
_NOT_CHOSEN = (
    regex(
        r" (?:instead of|rather than|in place of|decided against|no|not|never) "
        rf"(?:{_any('use,using,with,to,in,by,via,on,through')} )?{_AFTER}"
    ),
    regex(rf" {_CHOOSE} (?:{_WORD} ){{1,4}}?over {_AFTER}"),
    regex(
        rf" {_BEFORE}(?:is|are|was|were) (?:(?:not|never) (?:used|chosen|allowed|an option)"
        r"|rejected|ruled out|turned down|forbidden|banned) "
    ),
)
# "Instead of X" and "not X" may speak of one place among several.
_HEDGED = frozenset("instead rather place lieu now not".split())
# What these find is no more although, or because, the words before it deny something.
_STAND_DENIAL = _HEDGED | frozenset("longer what used formerly ->".split())
_DENIED = regex(
    r"(?<! with) (?:not (?!only )|no (?!longer )|(?:never|nobody|nothing|none|neither|cannot) )"
    rf"(?:(?!{_any('and,but,because,since,so,as,when,while,if,which,before,after,until,now')} )"
    rf"{_WORD} )*$"
)
_SAYS_LASTING = regex(
    " "
    + _any(
        f"no longer,any ?more,any longer,{FROM_NOW_ON},"
        r"instead of,as of (?:now|today|this|next),not \S+ (?:but|any ?more),used to be,is gone,"
        "are gone,effective immediately,starting (?:now|today),took over from,in place of"
    )
    + " "
)
_SAYS_NEW = regex(
    " "
    + _any(
        f"now,no longer,any ?more,any longer,{FROM_NOW_ON},these days,nowadays,as of,since,instead,"
        "again,has been,have been,was,were,got,meanwhile,newly,latest,recently,finally,"
        "changed,moved,switched,replaced,renamed,raised,lowered,upgraded,tightened,widened,stopped,"
        "became,becomes,went,make that,taken over,took over,rather than,from this month,starting,"
        "went up,went down,extended,reduced,increased,bumped,dropped,merged into,split,shortened,"
        "relaxed,lifted,gone"
    )
    + " "
)
TELLS_NEW = frozenset(
    "now instead moved changed switched raised lowered upgraded extended shortened reduced "
    "increased bumped".split()
)
"""Words of which a line has one if it gives a value that holds from now on."""


def replaced_phrases(line: str, words: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """The phrases of ``line`` that name what is no more, and whether it plainly says so.

    ``words`` are its words.
    """
    for cues, pattern in _PATTERNS:
        if not cues.isdisjoint(words):
            for match in pattern.finditer(line):
                if _STAND_DENIAL.isdisjoint(cues) and _is_denied(line, match):
                    continue
                yield " ".join(filter(None, match.groupdict().values())), _HEDGED.isdisjoint(cues)


def _is_denied(line: str, match: re.Match[str]) -> bool:
    """Whether a word before the change that ``match`` found denies it: "we did not drop"."""
    begins, ends = match.span("old")
    return _DENIED.search(line, 0, ends if begins == match.start() + 1 else begins) is not None


def turned_down(line: str) -> Iterator[str]:
    """The phrases of ``line`` that name what was not chosen: "not X", "X is not used"."""
    for pattern in _NOT_CHOSEN:
        for match in pattern.finditer(line):
            yield match["old"]


def says_lasting(line: str) -> bool:
    """Whether ``line`` says in so many words that something changes for good."""
    return _SAYS_LASTING.search(line) is not None


def says_new(line: str) -> bool:
    """Whether ``line`` has a word of change: "now", "these days", "was raised"."""
    return _SAYS_NEW.search(line) is not None


# --- what held in the past -----------------------------------------------------------------------

_PERIOD = (
    r"(?:(?:early|mid|late|the|end|middle|beginning|of|last) )*"
    rf"(?:20\d\d|{'|'.join((*MONTHS, *SEASONS, *WEEKDAYS, *UNITS))}|sprint|release)"
    r"(?: \d\d?)?(?: 20\d\d)?"
)
# "Until March the limit …", "before uv we …", "… until we had a cluster".
_UP_TO = (
    rf"(?:until|till|before) (?:{_PERIOD}(?= )|(?:we|they|it)(?: {_WORD})+|(?:the |our |a )?{_WORD}"
    rf"(?: (?!{_any('we,i,it,they,the,a,our,was,were,had')} ){_WORD}){{0,3}})"
)
_AT_THAT_TIME = (
    rf"(?:in|during) {_PERIOD}|last {_PERIOD}|back then|at (?:that|the) time"
    r"|in the (?:old days|past)|(?:an?|two|three|some|\d+) (?:year|month|week)s? ago"
    r"|formerly|previously|originally|initially|before(?= (?:[.;!] )*$)"
)
_WHEN = regex(rf" (?:{_UP_TO}|{_AT_THAT_TIME})(?: ,)?(?= )")
_USED_TO = regex(
    r"(?<! is)(?<! are)(?<! was)(?<! were)(?<! be)(?<! not)(?<! ,) used to(?: be)?(?= )"
)
_WAS_SO = regex(
    rf" {_any('was,were,had,used,ran,went,lived,kept,held,spoke,hosted,stored,deployed,served')} "
    rf"| {_any('needed,required,allowed,supported,accepted,handled,reviewed,owned,relied,sent')} "
)
_IS_SO = regex(
    rf" {_any('is,are,has,have,be,been,do,does,must,may,can,should,will,now,today,still,since')} "
    rf"| {_any('stays?,keeps?,called,named,known')} "
)
# What was done once, and lasts: "in 2024 we moved", "the limit was raised last week".
_LASTS = regex(
    " "
    + _any(
        "moved,migrated,switched,changed,ported,converted,upgraded,raised,lowered,increased,reduced,"
        "bumped,cut,dropped,removed,retired,replaced,extended,shortened,renamed,introduced,adopted,"
        "chosen?,picked,decided,agreed,settled,added,enabled,disabled,set,made,became,fixed,approved,"
        "left,lifted,created,banned,forbidden,merged,split,stopped,ended,shut,deleted,abandoned,"
        "deprecated,took over,got rid,went (?:for|with|to)(?: the)?,ruled out,rejected"
    )
    + " "
)
# "Was rewritten in Rust": it is, since; a state is what only held.
_WAS_DONE = regex(
    r" (?:was|were|got|been) (?:\w+ly )?"
    r"(?!"
    + _any(
        "hosted,stored,deployed,served,kept,written,based,called,allowed,limited,hashed,encrypted,"
        "cached,logged,named"
    )
    + r" )"
    r"\w+(?:ed|en|ilt|ut|old|ade) "
)
# "Formerly Alice owned billing; Bob owns it": what is said behind may be of the present.
_SAYS_MORE = regex(r" (?:[,;:]|but|then) \w")


def said_of_past(line: str) -> str:
    """What ``line`` says held once, without when that was; "" if some of it may hold now.

    "The limit used to be 10", "until 2025 the limit was 10", "before uv we used pip-tools".
    """
    told, used = _USED_TO.subn(" ", line)
    told, dated = _WHEN.subn(" ", told)
    if _IS_SO.search(told) or _SAYS_MORE.search(told) or not (used or dated):
        return ""
    lasts = _LASTS.search(told) or _WAS_DONE.search(told)
    return told if used or (_WAS_SO.search(told) and not lasts) else ""
