import base64
import urllib.parse

import pytest

from subcog.stages.redaction.redact import Redactor

REDACTOR = Redactor.load()
PASSWORD = "qX7!mn4Tz"


@pytest.mark.parametrize(
    "text",
    [
        "next=" + urllib.parse.quote(f"https://x.io/?password={PASSWORD}&a=1", safe=""),
        "config " + base64.b64encode(f"DB_PASSWORD={PASSWORD}\nUSER=bob".encode()).decode(),
        f"| host | user | password |\n|---|---|---|\n| db | bob | {PASSWORD} |",
        f"user,password,role\nbob,{PASSWORD},admin",
        f"Username    Password\nbob         {PASSWORD}",
        f"name,url,username,password,note\nex,https://e.x,bob,aL3x!99z,\ny,,ann,{PASSWORD},memo",
        f'"url","username","password"\n"https://e.x","bob, jr","{PASSWORD}"',
        f"user\tpassword\trole\n\tTr0ub4dor&3\tadmin\n\nuser\tpassword\n\t{PASSWORD}",
        f"user,password,role\nbob,two,too,many\nann,{PASSWORD},admin",
    ],
)
def test_a_secret_that_is_quoted_encoded_or_in_a_column_is_gone(text):
    clean = REDACTOR.redact(text)
    assert PASSWORD not in clean.text
    assert urllib.parse.quote(PASSWORD) not in clean.text
    assert base64.b64encode(PASSWORD.encode())[:10].decode() not in clean.text
    assert clean.redactions


@pytest.mark.parametrize(
    "text",
    [
        "next=https%3A%2F%2Fx.io%2F%3Fpage%3D2",
        "| field | password |\n|---|---|\n| required | yes |\n| minimum | twelve |",
        "name,key\nprimary,id\nforeign,user_id",
    ],
)
def test_what_is_no_secret_stays_quoted_encoded_and_in_columns(text):
    assert REDACTOR.redact(text).text == text


TOKEN = "gh" + "p_MTX6T5bC6O3hDpHJanr4VjXiMha2mn82r7HQ"


@pytest.mark.parametrize(
    "text",
    [
        "password\uff1aqX7!mn4Tz",
        "password%20is%20qX7!mn4Tz",
        "\uff30\uff21\uff33\uff33\uff37\uff2f\uff32\uff24\uff1a\u3000qX7!mn4Tz",
        "".join(f"&#0{ord(letter)};" for letter in TOKEN),
        "".join(f"\\u{{00{ord(letter):x}}}" for letter in TOKEN),
        "".join(f"\\U000000{ord(letter):x}" for letter in TOKEN),
        f'"{TOKEN[:9]}" + "{TOKEN[9:20]}" + "{TOKEN[20:]}"',
    ],
)
def test_a_secret_in_rarer_forms_is_gone(text):
    clean = REDACTOR.redact(text)
    assert clean.redactions
    assert PASSWORD not in clean.text
    assert TOKEN[-8:] not in clean.text
    assert f"&#0{ord('M')};" not in clean.text
