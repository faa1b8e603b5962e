"""Secrets in every shape that the rules name, made from their public formats.

They are put together by code from random parts, so that nothing here looks like a real one.
"""
# ruff: noqa: E501 - one shape a line reads best

import random
import re
import string

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL = ALNUM + "_-"
B64 = ALNUM + "+/"


def some(rng, length, alphabet=ALNUM):
    """Random characters with a small letter, a capital and a digit, where the alphabet has them."""
    while True:
        text = "".join(rng.choices(alphabet, k=length))
        kinds = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
        if length < 8 or all(set(text) & set(k) for k in kinds if set(alphabet) & set(k)):
            return text


def dashes(word, label):
    return f"-----{word} {label}-----"


def key_block(rng, label, lines=6, width=64, headers=""):
    body = "\n".join(some(rng, width, B64) for _ in range(lines))
    return (
        f"{dashes('BEGIN', label)}\n{headers}{body}\n{some(rng, 22, B64)}==\n{dashes('END', label)}"
    )


def luhn(digits):
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 if index % 2 else 2)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


def card(rng, prefix, length):
    return luhn(prefix + "".join(rng.choices(string.digits, k=length - len(prefix) - 1)))


def iban(rng, country, length):
    account = "".join(rng.choices(string.digits, k=length - 4))
    number = int("".join(str(int(c, 36)) for c in account + country + "00"))
    return f"{country}{98 - number % 97:02d}{account}"


def french_number(rng):
    body = f"{rng.randint(1, 2)}{rng.randint(10, 99)}0{rng.randint(1, 9)}75{rng.randint(100000, 999999)}"
    return f"{body}{97 - int(body) % 97:02d}"


def chinese_id(rng):
    body = f"1101051949123{rng.randint(1000, 1999)}"
    return body + "10X98765432"[sum(int(d) * pow(2, 17 - at, 11) for at, d in enumerate(body)) % 11]


# Tokens that are known by a prefix: rule name, and how to make one.
TOKENS = [
    ("aws-access-key", lambda r: "AK" + "IA" + some(r, 16, UPPER)),
    ("aws-access-key", lambda r: "AS" + "IA" + some(r, 16, UPPER)),
    ("aws-bedrock-key", lambda r: "AB" + "SK" + some(r, 120, B64)),
    ("aws-session-token", lambda r: "IQoJ" + "b3JpZ2lu" + some(r, 200, B64) + "=="),
    ("asana-token", lambda r: "2/" + some(r, 16, string.digits) + "/" + some(r, 16, string.digits) + ":" + some(r, 32, HEX)),
    ("google-api-key", lambda r: "AI" + "za" + some(r, 35, URL)),
    ("google-oauth", lambda r: "GOC" + "SPX-" + some(r, 28, URL)),
    ("google-oauth", lambda r: "ya" + "29." + some(r, 100, URL)),
    ("azure-client-secret", lambda r: some(r, 3) + "8Q" + "~" + some(r, 34)),
    ("digitalocean-token", lambda r: "dop" + "_v1_" + some(r, 64, HEX)),
    ("alibaba-key", lambda r: "LT" + "AI" + some(r, 20)),
    ("cloudflare-key", lambda r: "v1" + ".0-" + some(r, 24, HEX) + "-" + some(r, 146, HEX)),
    ("platform-token", lambda r: "HR" + "KU-" + some(r, 58)),
    ("platform-token", lambda r: "sb" + "p_" + some(r, 40, HEX)),
    ("platform-token", lambda r: "dap" + "i" + some(r, 32, HEX)),
    ("vault-token", lambda r: "hv" + "s." + some(r, 90)),
    ("github-token", lambda r: "gh" + "p_" + some(r, 36)),
    ("github-token", lambda r: "gh" + "s_" + some(r, 36)),
    ("github-token", lambda r: "github" + "_pat_" + some(r, 22) + "_" + some(r, 59)),
    ("gitlab-token", lambda r: "gl" + "pat-" + some(r, 20)),
    ("atlassian-token", lambda r: "AT" + "BB" + some(r, 32)),
    ("atlassian-token", lambda r: "ATA" + "TT3" + some(r, 180)),
    ("npm-token", lambda r: "np" + "m_" + some(r, 36)),
    ("pypi-token", lambda r: "pyp" + "i-AgEIcHlwaS5vcmc" + some(r, 120)),
    ("registry-token", lambda r: "ruby" + "gems_" + some(r, 48, HEX)),
    ("registry-token", lambda r: "dckr" + "_pat_" + some(r, 27)),
    ("anthropic-key", lambda r: "sk-" + "ant-api03-" + some(r, 93, URL) + "AA"),
    ("openai-key", lambda r: "sk-" + "proj-" + some(r, 120, URL)),
    ("openai-key", lambda r: "sk" + "-" + some(r, 48)),
    ("huggingface-token", lambda r: "h" + "f_" + some(r, 34)),
    ("model-key", lambda r: "gs" + "k_" + some(r, 52)),
    ("model-key", lambda r: "sk-" + "or-v1-" + some(r, 64, HEX)),
    ("slack-token", lambda r: "xo" + "xb-" + some(r, 12, string.digits) + "-" + some(r, 24)),
    ("telegram-token", lambda r: some(r, 10, "123456789") + ":A" + "A" + some(r, 33)),
    ("stripe-key", lambda r: "sk" + "_live_" + some(r, 24)),
    ("stripe-key", lambda r: "wh" + "sec_" + some(r, 32)),
    ("twilio-key", lambda r: "S" + "K" + some(r, 32, HEX)),
    ("sendgrid-key", lambda r: "S" + "G." + some(r, 22) + "." + some(r, 43)),
    ("mail-key", lambda r: some(r, 32, HEX) + "-us" + "12"),
    ("shopify-token", lambda r: "sh" + "pat_" + some(r, 32, HEX)),
    ("square-token", lambda r: "sq" + "0atp-" + some(r, 22)),
    ("braintree-token", lambda r: "access_" + "token$production$" + some(r, 16, LOWER) + "$" + some(r, 32, HEX)),
    ("facebook-token", lambda r: "EA" + "ACEd" + some(r, 120)),
    ("monitoring-key", lambda r: "gl" + "sa_" + some(r, 32) + "_" + some(r, 8, HEX)),
    ("monitoring-key", lambda r: "NR" + "AK-" + some(r, 27, UPPER)),
    ("service-token", lambda r: "lin" + "_api_" + some(r, 40)),
    ("service-token", lambda r: "PM" + "AK-" + some(r, 24, HEX) + "-" + some(r, 34, HEX)),
    ("age-key", lambda r: "AGE-SECRET" + "-KEY-1" + some(r, 58, UPPER)),
    ("jwt", lambda r: "ey" + "J" + some(r, 33) + ".ey" + "J" + some(r, 80, URL) + "." + some(r, 43, URL)),
]  # fmt: skip

# Secrets that are known by what stands around them: rule name, what is around, how to make one.
SETTINGS = [
    ("aws-secret-key", "aws secret key is: {}", lambda r: some(r, 40, B64)),
    ("aws-secret-key", "aws_secret_access_key = {}", lambda r: some(r, 40, B64)),
    ("azure-key", "DefaultEndpointsProtocol=https;AccountName=x;Account" + "Key={};EndpointSuffix=y", lambda r: some(r, 86, B64) + "=="),
    ("azure-key", "the key {} of the storage account", lambda r: some(r, 76, B64) + "+A" + "St" + some(r, 6) + "=="),
    ("azure-sas", "https://x.blob.core.windows.net/c?sv=2022-11-02&sig={}", lambda r: some(r, 43) + "%3D"),
    ("npm-token", "//registry.internal/:_auth" + "Token={}", lambda r: some(r, 32)),
    ("webhook", "https://hooks.slack" + ".com/services/{}", lambda r: f"T{some(r, 8, UPPER)}/B{some(r, 8, UPPER)}/{some(r, 24)}"),
    ("webhook", "https://discord" + ".com/api/webhooks/{}", lambda r: f"{some(r, 18, string.digits)}/{some(r, 68, URL)}"),
    ("webhook", "https://acme.webhook" + ".office.com/webhookb2/{}", lambda r: f"{some(r, 36, HEX)}/inc/{some(r, 32, HEX)}"),
    ("discord-token", "client.run({})", lambda r: "M" + some(r, 23) + "." + some(r, 6) + "." + some(r, 38)),
    ("url-password", "postgresql://app:{}@db.internal:5432/app", lambda r: some(r, 12)),
    ("url-password", "mongodb+srv://app:{}@cluster0.x.mongodb.net/app", lambda r: some(r, 10) + "/" + some(r, 6) + "@" + some(r, 3)),
    ("url-password", "redis://:{}@cache:6379/0", lambda r: some(r, 16)),
    ("url-password", "https://bob:{}@nexus.internal/repo", lambda r: some(r, 9, string.ascii_lowercase)),
    ("authorization", "Authorization: Basic {}", lambda r: some(r, 24, B64)),
    ("authorization", "'X-API-Key': '{}'", lambda r: some(r, 24)),
    ("bearer-token", "curl -H \"Auth: Bearer {}\" https://api", lambda r: some(r, 40)),
    ("cookie", "Cookie: session={}; theme=dark", lambda r: some(r, 32)),
    ("cookie", "Cookie: theme=dark; sessionid={}", lambda r: some(r, 32)),
    ("cookie", "curl -b '_ga=GA1.2.1234567; connect.sid={}; n=1' https://api", lambda r: some(r, 32)),
    ("password-hash", "root:{}:19000:0:99999:7:::", lambda r: "$6" + "$" + some(r, 16) + "$" + some(r, 86, ALNUM + "./")),
    ("netrc-password", "machine api.x.io login bob password {}", lambda r: some(r, 12)),
    ("pgpass-password", "db.internal:5432:app:bob:{}", lambda r: some(r, 14)),
    ("pgpass-password", "it is db.internal:5432:app:bob:{}, they say", lambda r: some(r, 14)),
    ("command-password", "mysql -u root -p{} app", lambda r: some(r, 12)),
    ("command-password", "deploy --password {} --force", lambda r: some(r, 12)),
    ("command-password", "curl -u bob:{} https://api", lambda r: some(r, 12)),
    ("xml-secret", "<password>{}</password>", lambda r: some(r, 12)),
    ("xml-secret", '<add key="Smtp.Password" value="{}" />', lambda r: some(r, 12)),
    ("password", "DB_PASSWORD={}", lambda r: some(r, 10, string.ascii_lowercase)),
    ("password", "PGPASSWORD={} psql", lambda r: some(r, 10)),
    ("password", "db:\n  password: {}\n", lambda r: some(r, 10, string.ascii_lowercase)),
    ("password", '{{"password": "{}"}}', lambda r: some(r, 6) + "! " + some(r, 4)),
    ("password", '{{\\"password\\": \\"{}\\"}}', lambda r: some(r, 10)),
    ("password", "Server=db;User Id=sa;Password={};Database=app", lambda r: some(r, 12)),
    ("password", "the password is {}, do not tell", lambda r: some(r, 12)),
    ("password", "os.environ['DB_PASSWORD'] = '{}'", lambda r: some(r, 12)),
    ("secret", "SECRET_KEY={}", lambda r: some(r, 24, string.ascii_lowercase)),
    ("secret", 'client_secret = "{}"', lambda r: some(r, 32, LOWER)),
    ("secret", "api_key: {}", lambda r: some(r, 32, HEX)),
    ("secret", "https://api.x.io/v1?token={}&page=2", lambda r: some(r, 20)),
    ("secret", 'const apiKey = "{}";', lambda r: some(r, 20)),
    ("high-entropy", 'BEACON = "{}"', lambda r: some(r, 40)),
    ("provider-token", "pays with {}", lambda r: "FLW" + "SECK-" + some(r, 32, HEX) + "-X"),
    ("provider-token", "deploys need {}", lambda r: "na" + "pi_" + some(r, 64)),
    ("provider-token", "and {} for the pipeline", lambda r: "CCI" + "PAT_" + some(r, 22) + "_" + some(r, 40, HEX)),
    ("service-key", "datadog: {}", lambda r: some(r, 32, HEX)),
    ("said-secret", "our API key is {}", lambda r: some(r, 32)),
    ("said-secret", "nimm {} als Passwort", lambda r: some(r, 12) + "!7"),
    ("said-token", "the token expired, so here goes a fresh one as agreed on the phone, {}", lambda r: some(r, 36)),
    ("sql-password", "ALTER ROLE app IDENTIFIED BY '{}'", lambda r: some(r, 12)),
    ("url-token", "git clone https://{}@forge.internal/a", lambda r: some(r, 40)),
    ("query-secret", "https://b.internal/k?X-Amz-Signature={}", lambda r: some(r, 64, HEX)),
    ("named-value", "- name: DB_PASSWORD\n  value: {}", lambda r: some(r, 16)),
    ("totp-seed", "2fa seed: {}", lambda r: some(r, 32, string.ascii_uppercase + "234567")),
    ("seed-phrase", "mnemonic: {}", lambda r: " ".join(some(r, 6, string.ascii_lowercase) for _ in range(12))),
    ("base64-line", "the file says\n{}\nand more", lambda r: some(r, 76, B64)),
    ("email", "write to {} about it", lambda r: some(r, 8, string.ascii_lowercase) + "@" + "mail.example.com"),
    ("card-number", "paid with {}", lambda r: card(r, "4", 16)),
    ("card-number", "paid with {}.", lambda r: " ".join(re.findall("....", card(r, "5" + "3", 16)))),
    ("card-number", "amex {}", lambda r: card(r, "37", 15)),
    ("iban", "transfer to {} today", lambda r: iban(r, "AT", 20)),
    ("iban", "transfer to {} TODAY", lambda r: " ".join(re.findall(".{1,4}", iban(r, "DE", 22)))),
    ("phone-number", "call {} at night", lambda r: f"+43 664 {r.randint(1000000, 9999998)}"),
    ("phone-number", "call {} at night", lambda r: f"({r.randint(201, 989)}) {r.randint(201, 989)}-{r.randint(1000, 9999)}"),
    ("phone-number", "phone: {}", lambda r: f"0664 {r.randint(1000000, 9999999)}"),
    ("social-security-number", "SSN {}", lambda r: f"{r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}"),
    ("social-security-number", "NIR {}", french_number),
    ("national-id", "id {}", chinese_id),
    ("private-key", "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n{}\nPrivate-MAC: 00", lambda r: some(r, 64, B64)),
]  # fmt: skip
BLOCKS = ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]  # fmt: skip


def corpus(seeds):
    """``(rule, text, secret)`` for every shape and seed: the secret, and a text that it stands in."""
    for seed in seeds:
        for rule, make in TOKENS:
            secret = make(random.Random(f"{rule}{seed}"))
            yield rule, f"the token of the staging box is {secret}", secret
        for number, (rule, setting, make) in enumerate(SETTINGS):
            secret = make(random.Random(f"{number}{rule}{seed}"))
            yield rule, setting.format(secret), secret
        for label in BLOCKS:
            block = key_block(random.Random(f"{label}{seed}"), label)
            yield "private-key", block, block
