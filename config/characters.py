"""Which characters nobody sees, as parts of regular expressions.

What Unicode calls default-ignorable, and controls, but for newline and tab. Joiners and the two
selectors between text and emoji have meaning, one at a time, after the characters named here; of
other selectors even one a letter could spell whole hidden sentences.
``hooks/spool.py`` has the same; a test holds both equal.
"""

HIDDEN = (
    r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Within brackets: what is never seen and may go anywhere. Line ends are not among it."""
# Scripts whose letters join, and symbols.
_JOINED = (
    r"\u0600-\u109f\u1780-\u1cff\u203c\u2049\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00011fff\U0001e900-\U0001e95f\U0001f000-\U0001faff"
)
_SYMBOLS = r"#*0-9\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# The character comes before what is looked back at: a set is found faster than a place.
IDLE = (
    rf"[\ufe0e\ufe0f](?<![{_SYMBOLS}].)"
    rf"|[\u200c\u200d](?<![{_JOINED}].)(?<![{_SYMBOLS}]\ufe0f.)"
)
"""A joiner or selector that changes nothing, or another one after one, in a text without HIDDEN."""

PLAIN = {
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F), " "),
    **dict.fromkeys((*range(0x2010, 0x2014), 0x2212), "-"),
}
"""The space or hyphen that other spaces and hyphens stand for, by their code points."""
