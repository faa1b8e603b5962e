from collections import Counter

import pytest

from perf.score_redaction import AIMS, is_clean
from subcog.stages.redaction.redact import Redactor
from tests.secret_corpus import cases

REDACTOR = Redactor.load()
ORDINARY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "The key idea is to cache 3f786850e387550fdab836ed7e6dc881de23001b per branch.",
    "request id req_011CSHoEeqs5C35K2UUqR7Fy failed",
    "The token id is 550e8400-e29b-41d4-a716-446655440000",
    "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7",
    "go.sum: github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=",
    "the password is required and must be at least 8 characters",
    "curl -H 'Authorization: Bearer $TOKEN' https://api.example.com and --token <token>",
    "redis key session:3f786850e387, S3 key is uploads/2024/01/file-v2.tar.gz",
    "Public key fingerprint: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "raise TokenExpiredError(f'token {token_id} expired at {exp}')",
    "Das Passwort muss mindestens 12 Zeichen lang sein, la contraseña es obligatoria",
    "| Option | Default | Key |\n| token | string | required |",
    "cp -a src/ dst2/ && mkdir -p build/x86_64 && ssh -p 2222 user@host",
    "we set the token TTL to 15m and key rotation to 90d",
    'words = ["pass", "pwd", "token", "secret_key", "max_tokens"]',
    "google-site-verification=kQ7vRr2TfLx9WmBn4ZcYpD8sHjUeA3GiO5tV6yK1XwM",
    "DKIM-Signature: v=1; a=rsa-sha256; d=a.org; bh=Zk3mT9vQ1xLr7WcYb2NfPpD8sHjUeA4GiO5tV6yK0Xw=;",
    "Digest: sha-256=Zk3mT9vQ1xLr7WcYb2NfPpD8sHjUeA4GiO5tV6yK0Xw=",
    "boundary=----WebKitFormBoundaryQ7vRr2TfLx9WmBn4",
    "src: url(data:font/woff2;base64,d09GMgABAAAAAk7vRr2TfLx9WmBn4ZcYpD8sHjUeA3GiO5t",
    '"image/png": "iVBORw0KGgoAAAANSUhEUgAAQ7vRr2TfLx9WmBn4ZcYpD8sHjUeA3GiO5tV6yK1XwM"',
    "ipfs://QmZk3mT9vQ1xLr7WcYb2NfPpD8sHjUeA4GiY5tV6yK9XwM",
    '{"kty": "RSA", "use": "sig", "kid": "Q7vRr2TfLx9WmBn4ZcYpD8"} is the key',
    "evt Q7vRr2TfLx9WmBn4ZcYpD8sH was sent twice",
    "SORT_KEY=orders-v2-5e0d9a1b7c3f",
    "mysqldump -u root -p shop > shop.sql",
    'secret "db-token" unchanged',
    "パスワードは8文字以上にし、bcrypt でハッシュ化して DB_PASSWORD に置く",
    "パスワードリセットは POST /v1/password/reset で行う",
    "密码必须至少 12 位，密码使用 argon2id 加密，密码 reset 邮件用 SendGrid2",
    "비밀번호는 최소 8자 이상, 비밀번호 재설정 API 는 v2/users/reset",
    "トークンは 24h で失効し、リクエスト ID は req_011CSHoEeqs5C35K2UUqR7Fy",
    "пароль должен быть не короче 12 символов и хранится в Vault",
    "hasło jest w 1Password i musi mieć co najmniej 12 znaków",
    "het wachtwoord staat in 1Password, minstens 12 tekens, en ging naar 1Password toe",
    "password reset & login flow, token&session",
    "$password = $request->input('password');",
    "$token = openssl_random_pseudo_bytes(16);",
    "'password' => ['required', Password::min(12)],",
    "s/token=[^&]*/token=***/g",
    "server.password=@server.password@",
    "GITHUB_KEY=ghp_...",
    'header_key = "x-acme-api-key"',
    "def check(valid_token: UserAPIKeyAuth) -> None:",
    "before = text[max(0, match.start('secret') - 30) : match.end('secret')]",
    "Das Passwort wird mit argon2id gehasht, bleibt 90 Tage gültig und wird 3x geprüft",
    "Der Quellcode ist in v2/src, der Statuscode ist 404, und der Fehlercode: E4711",
    "forgot your password? 24 hours later the link in base64 is void",
    "log in with GitHub and SSO, sign in with Google and OAuth2, the user and S3 role",
    "lösenordet är minst 12 tecken, salasana on pakollinen, şifre en az 8 karakter",
    "la parola: prima del 2024, e la parola e2e",
    "GITHUB_TOKEN=gh" + "p_" + "x" * 36 + " as in the example",
    "user has two folders Entwürfe and &Entw-APw-rfe",
    "the password (hashed with argon2id) column, key (composite) order_id",
    "words = ['sk-', 'pk-'] + ['re_v2', 'abc_1']; path = 'src/api2' + '/users_v3/list'",
    "<p>it&#39;s 5&#37; of &#8364;12, &#65;&#66;</p> \\u00e4 and \\x1b[0m",
    "全角のＡＢＣ株式会社２０２４年版の資料",
]


SAID = [  # a text, and what must be gone of it
    ("mudei a senha do servidor para {}", "Sabi4!tinga"),
    ("a senha do wifi é {}", "azul.mesa.71"),
    ("ho cambiato la password di root in {}", "Tav0lo!verde"),
    ("die Passphrase vom Schlüssel ist {}", "linde-becher-nagel-wolke"),
    ("it asks for a passphrase, type {}", "cedar-mantle-ripple"),
    ('the passphrase of the disk is "{}"', "cedar mantle ripple walnut"),
    ("la chiave del wifi di casa è {}", "t4vol0verde"),
    ("the mailbox password (info at a) will be {} soon", "Otter!Lamp4"),
    ("ssh root@10.0.0.7, password {}", "lampada42"),
    ("the job logs in with the password {} and posts", "Tr0ub4dor" + "&Nine"),
    ("le mot de passe de la base est {}", "tr0ub4dor" + "&3"),
    ("la password di prod è {}.", "Tr0ub4dor" + ";Nine"),
    ("本番DBのパスワードは{}です。", "hunter2-tokyo"),
    ("パスワードを {} に変更しました", "Abc123!x"),
    ("{} がパスワードです", "hunter2-tokyo"),
    ("暗証番号は {} です", "482193"),
    ("密码：{}", "Abc12345!"),
    ("密码 for db 是 {}，别外传", "Abc12345!"),
    ("비밀번호는 {} 입니다", "hunter2-seoul"),
    ("登录密码改成了 {}", "k4Tz0qP9vLs2"),
    ("токен: {}", "k4Tz0qP9vLs2mN8bQ1wE7r"),
    ("APIキーは {} です", "k4Tz0qP9vLs2mN8bQ1wE7r"),
    ("пароль от базы — {}", "hunter2-moscow"),
    ("новый пароль теперь {}", "Zima-2024x"),
    ("a palavra-passe da base é {}", "hunter2-lisboa"),
    ("het wachtwoord van de database is {}", "hunter2-delft"),
    ("hasło do bazy to {}", "hunter2-gdansk"),
    ("heslo k databázi je {}", "hunter2-praha"),
    ("printer: admin // {}", "Lampada42!"),
    ("- NAS (admin, {})", "Lampada42!"),
    ('Wi-Fi "guests" → {}', "Lampada42!"),
    ("PIN for the gate is {}#", "402917"),
    ("| host | password |\n|---|---|\n| a | {} |", "red-lamp-42"),
    ("curl -b 'sid={}' https://x", "k4Tz0qP9vLs2xY7b"),
    ("127.0.0.1:6379> AUTH {}", "k4Tz0qP9vLs2"),
    ("net use Z: \\\\h\\s {} /user:bob", "k4Tz0qP9vLs2"),
    ("Postmark server token {}", "0f3b1c9e-7a2d-4e58-9c61-b84d2f07a3e5"),
    ("signkey-prod-{}", "0f3b1c9e7a2d4e589c61b84d2f07a3e50f3b1c9e7a2d4e589c61b84d2f07a3e5"),
    ("seed phrase (old): {}", "orbit lemon legal velvet vendor zone zoo able abuse cash oak pen"),
    ("Der Zugangscode ist {}", "Xk7mQ2vLp9TzR4w1"),
    ("Der Türcode ist {}", "471188"),
    ("Wiederherstellungscode: {}", "Yk7mQ2vLp9TzR4w1"),
    ("Freischaltcode {} eingeben", "Yk7mQ2vLp9TzR4w1"),
    ("die PUK lautet {}", "48219377"),
    ("Die Zugangsdaten sind bob und {}", "Zk7mQ2v!Lp9TzR4w1"),
    ("Anmelden mit bob und {}", "Zk7mQ2v!Lp9TzR4w1"),
    ("you can log in with bob@acme.example and {}", "Zk7mQ2v!Lp9TzR4w1"),
    ("Das Passwort wird {}", "Uk7mQ2v!Lp9T"),
    ("Das Passwort (prod) {}", "Uk7mQ2v!Lp9T"),
    ("Mein Passwort? {}", "Uk7mQ2v!Lp9T"),
    ("<passwort>{}</passwort>", "Vk7mQ2v!Lp9T"),
    ("lösenordet är {}", "Wk7mQ2v!Lp9T"),
    ("adgangskoden til serveren er {}", "Wk7mQ2v!Lp9T"),
    ("passordet er {}", "Wk7mQ2v!Lp9T"),
    ("salasana on {}", "Wk7mQ2v!Lp9T"),
    ("şifre: {}", "Wk7mQ2v!Lp9T"),
    ("veritabanı şifresi {}", "Wk7mQ2v!Lp9T"),
    ("a jelszó {}", "Wk7mQ2v!Lp9T"),
    ("parola bazei este {}", "Wk7mQ2v!Lp9T"),
    ("ο κωδικός είναι {}", "Wk7mQ2v!Lp9T"),
    ("كلمة المرور هي {}", "Wk7mQ2v!Lp9T"),
    ("पासवर्ड {} है", "Wk7mQ2v!Lp9T"),
    ("mật khẩu là {}", "Wk7mQ2v!Lp9T"),
    ("# gh" + "p_k4Tz0qP9vLs2xY7bW{}\n# dN3fR6hJ8mQ1cV5gB0tK", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), SAID)
def test_what_people_say_write_and_wrap_is_gone(text, secret):
    left = REDACTOR.redact(text.format(secret)).text
    assert "[redacted:" in left
    assert is_clean(left, [secret] if secret else ["dN3fR6hJ8mQ1cV5gB0tK"])


@pytest.fixture(scope="module")
def shares():
    total, clean = Counter(), Counter()
    for case in cases(range(1)):
        total[case["kind"]] += 1
        clean[case["kind"]] += is_clean(REDACTOR.redact(case["text"]).text, case["secrets"])
    return {kind: clean[kind] / number for kind, number in total.items()}


@pytest.mark.parametrize("kind", AIMS)
def test_secrets_are_found_by_their_places_as_often_as_aimed_at(shares, kind):
    assert shares[kind] >= AIMS[kind]


@pytest.mark.parametrize("line", ORDINARY)
def test_ids_digests_placeholders_and_prose_stay(line):
    assert REDACTOR.redact(line).text == line


GITHUB = "gh" + "p_k4Tz0qP9vLs2xY7bWdN3fR6hJ8mQ1cV5gB0t"


@pytest.mark.parametrize(
    "cut",
    ["' + '", '" . "', "', '", '","', "' '", '" || "', "\\n", "\\r\\n"],
)
def test_a_token_in_two_literals_is_gone(cut):
    quote = cut[0] if cut[0] in "'\"" else '"'
    left = REDACTOR.redact(f"x = f({quote}{GITHUB[:20]}{cut}{GITHUB[20:]}{quote})").text
    assert is_clean(left, [GITHUB[4:20], GITHUB[20:]])


@pytest.mark.parametrize("code", ["\\u{:04x}", "\\x{:02x}", "&#{};", "&#x{:x};", "%{:02X}"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_token_that_is_escaped_or_in_wide_letters_is_gone(code, wide):
    if wide:
        coded = "".join(chr(ord(one) + 0xFEE0) for one in GITHUB)
    else:
        coded = "".join(code.format(ord(one)) for one in GITHUB)
    assert REDACTOR.redact(f"the box uses {coded} here").text == (
        "the box uses [redacted:github-token] here"
    )
