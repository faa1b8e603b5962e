"""Texts that give a secret away, by kind and place: what perf/score_redaction.py scores.

Each is ``{"text", "secrets", "kind"}``, made by code from random parts, so that nothing here looks
like a real one. Places are many and secrets are drawn: what is scored is a place, not a value.
"""
# ruff: noqa: E501 - one place a line reads best

from __future__ import annotations

import base64
import json
import random
import string
import urllib.parse
from collections.abc import Callable, Iterator

from tests.planted import ALNUM, B64, BLOCKS, HEX, LOWER, TOKENS, UPPER, URL, key_block, some

Make = Callable[[random.Random], str]
WORDS = "abandon ability able about above absent absorb abstract absurd abuse access accident zebra zero zone zoo letter lemon legal velvet vendor venture orbit orchard".split()


def uuid(r):
    return "-".join(some(r, n, HEX) for n in (8, 4, 4, 4, 12))


def password(r):
    word = r.choice(
        ["Sommer", "hunter", "dragon", "Winter", "monkey", "Kaffee", "Tr0ub4dor", "blue"]
    )
    return r.choice([
        lambda: word + str(r.randint(10, 9999)) + r.choice("!#$*?"),
        lambda: some(r, r.randint(9, 20), ALNUM),
        lambda: some(r, 5, ALNUM) + r.choice("!%^*_-+") + some(r, 6, ALNUM),
        lambda: word + r.choice("-_.!") + some(r, 4, LOWER) + str(r.randint(0, 99)),
    ])()  # fmt: skip


def key(r):
    return r.choice([lambda: some(r, 32, HEX), lambda: some(r, 40, ALNUM), lambda: some(r, 24, ALNUM), lambda: some(r, 32, LOWER), lambda: some(r, 43, URL)])()  # fmt: skip


# Formats that were missed once, and some that were not.
FORMATS: list[Make] = [
    lambda r: "key-" + some(r, 32, HEX), lambda r: some(r, 32, HEX) + "-" + some(r, 8, HEX) + "-" + some(r, 8, HEX),
    lambda r: "cf" + "ut_" + some(r, 48), lambda r: "bk" + "ua_" + some(r, 40, HEX), lambda r: "CCI" + "PAT_" + some(r, 22) + "_" + some(r, 40, HEX),
    lambda r: "rn" + "d_" + some(r, 32), lambda r: "na" + "pi_" + some(r, 64, LOWER), lambda r: "vc" + "p_" + some(r, 56), lambda r: some(r, 24),
    lambda r: "sk-" + "lf-" + uuid(r), lambda r: "sk" + "_" + some(r, 48, HEX), lambda r: "access-" + "production-" + uuid(r),
    lambda r: "ph" + "x_" + some(r, 43), lambda r: "pc" + "sk_" + some(r, 6) + "_" + some(r, 63), lambda r: "00" + some(r, 40, URL),
    lambda r: "pat-" + "na1-" + uuid(r), lambda r: "dd" + "p_" + some(r, 36), lambda r: "fl" + "y_" + some(r, 44), lambda r: "zz" + "tok_" + some(r, 36),
    lambda r: "acme" + "_live_" + some(r, 32), lambda r: "xy" + "-" + some(r, 40),
]  # fmt: skip
TOKEN_PROSE = [
    "We use {} for the staging box.", "{} is what CI uses.", "Deploys need the token {} in the header.", "api key: {}", "Remember that {} belongs to the bot account",
    "the key {} was rotated yesterday", "`{}` works for the sandbox", "I pasted {}, please store it", "header x-auth: {}", "curl fails with {} but not without",
]  # fmt: skip
ASSIGNMENTS = [
    "pass: '{p}'", "dbpass={p}", "DBPASS={p}", "db_pass = \"{p}\"", "smtp_pass: {p}", "userpass='{p}'", "MYSQL_PWD={p}", "sudo_pw: \"{p}\"", "rootpw={p}", "adminPassword: {p}",
    "    client-key-data: {b}", "variable \"db_password\" {{\n  type = string\n  default = \"{p}\"\n}}", "- name: DB_PASSWORD\n  value: {p}", '{{"name": "API_TOKEN", "value": "{k}"}}',
    '{{"config": "{{\\"password\\": \\"{p}\\"}}"}}', '"{{\\\\\\"api_key\\\\\\": \\\\\\"{k}\\\\\\"}}"', "mnemonic: {m}", "seed phrase = \"{m}\"", "totp_secret = {t}", "otpauth://totp/Acme:bob?secret={t}&issuer=Acme",
    "bob:$apr1${s}${h}", "bob:{{SHA}}{d}=", "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={x}", "https://storage.googleapis.com/b/o?X-Goog-Signature={x}{x}", "https://d1.cloudfront.net/a?Expires=1&Signature={u}&Key-Pair-Id=K2",
    "ENV SECRET_KEY {k}", "export TOKEN={k}", "setx API_KEY {k}", "kubectl create secret generic x --from-literal=password={p}", "heroku config:set STRIPE={k}", "DATADOG = \"{k}\"", "algolia: {k}",
    "<password>{p}</password>", "password => '{p}',", "$password = '{p}';", ":password => \"{p}\"", "spring.datasource.password={p}", "AWS_ACCESS_KEY_ID={a}\nAWS_SECRET_ACCESS_KEY={w}", "{a} {w}", "key id {a}, secret {w}", "{a},{w}",
    "auth = ('bob', '{p}')", "passwd: !!str {p}", "psk=\"{p}\"", "wpa_passphrase={p}", "client_secret: {k}", "signing_key = b'{k}'", "encryptionKey: \"{k}\"", "jwt_secret={k}", "Private key: {x}", "webhook_secret: {k}", "cookie_secret = {k}", "connectionString: Server=db;Uid=sa;Pwd={p};", "data:\n  password: {e}", "license_key: {k}",
    "PIN: {n}", "pin = {n}", "recovery code: {r}", "access_token: {k}", "\"refreshToken\": \"{k}\"", "password\t{p}", "set PASSWORD {p}", "keystore.password={p}", "os.environ.setdefault('DB_PASS', '{p}')", "--set auth.rootPassword={p}", "ansible_become_pass: {p}", "GF_SECURITY_ADMIN_PASSWORD={p}", "bind_dn_password: {p}", "(password \"{p}\")", "password={p}&user=bob", "/password:{p}",
]  # fmt: skip
COMMANDS = [
    "git clone https://{k}@github.com/a/b.git", "SENTRY_DSN=https://{h32}@o123.ingest.sentry.io/45", "sqlplus scott/{p}@orcl", "jdbc:oracle:thin:scott/{p}@db:1521:x", "mongosh -u root -p {p} admin", "sqlcmd -S db -U sa -P {p}", "ldapsearch -x -D cn=admin -w {p} -b dc=x",
    "keytool -list -keystore k.jks -storepass {p}", "keytool -genkey -keypass {p} -alias a", "openssl rsa -in k.pem -passin pass:{p}", "openssl enc -aes-256-cbc -k {p} -in f", "smbclient //srv/share -U bob%{p}", "CREATE USER bob IDENTIFIED BY '{p}';", "ALTER ROLE app WITH PASSWORD '{p}';", "create user app with encrypted password '{p}'", "ALTER LOGIN sa WITH PASSWORD = N'{p}'",
    "echo 'bob:{p}' | chpasswd", "echo {p} | sudo -S apt update", "echo '{p}' | docker login -u bob --password-stdin", "docker login -u bob -p {p} reg.io", "mysql -u root -p{p} app", "mysqldump -uroot -p'{p}' app", "redis-cli -h c -a {p} ping", "curl -u bob:{p} https://x", "curl -H 'PRIVATE-TOKEN: {k}' https://x", "curl --user 'bob:{p}' x", "wget --http-password={p} https://x",
    "sshpass -p '{p}' ssh bob@h", "psql 'host=db user=app password={p}'", "psql postgres://app:{p}@db/app", "PGPASSWORD={p} psql -h db", "zip -P {p} a.zip b", "7z x -p{p} a.7z", "gpg --batch --passphrase {p} -d f", "htpasswd -bc f bob {p}", "net user bob {p} /add", "net use z: \\\\srv\\s /user:bob {p}", "xfreerdp /u:bob /p:{p} /v:h", "plink -pw {p} bob@h", "mount -t cifs //s/x /m -o username=bob,password={p}",
    "rabbitmqctl add_user bob {p}", "rabbitmqctl change_password bob {p}", "az login -u bob -p {p}", "vault login {k}", "aws configure set aws_secret_access_key {w}", "npm config set //r.io/:_authToken {k}", "gh auth login --with-token <<< {k}", "user:{p}@tcp(db:3306)/app", "amqp://bob:{p}@mq/v", "Server=db;User=sa;Password={p}", "redis://default:{p}@c:6379", "snmpwalk -v3 -A {p} -X {p} h", "ipmitool -U root -P {p} -H h", "cqlsh -u c -p {p}", "cypher-shell -u neo4j -p {p}", "mosquitto_pub -u b -P {p} -t x", "SET PASSWORD FOR 'bob' = PASSWORD('{p}');", "mc alias set m https://h {a20} {w}", "useradd -m -p {p} bob", "twine upload -u __token__ -p {k}", "helm registry login r.io -u b -p {p}", "java -Djavax.net.ssl.keyStorePassword={p} -jar a", "terraform apply -var db_password={p}", "ansible-playbook x -e ansible_password={p}", "lftp -u bob,{p} sftp://h", "nmcli dev wifi connect x password {p}", "http -a bob:{p} https://x", "beeline -u jdbc:x -n bob -p {p}", "CREATE SECRET s (TYPE s3, KEY_ID '{a20}', SECRET '{w}')", "rclone config create r s3 secret_access_key {w}",
    "GRANT ALL ON *.* TO 'b'@'%' IDENTIFIED BY \"{p}\"", "deploy --api-key={k}", "deploy --token '{k}'", "tool --secret {k} run", "curl 'https://x/v1?api_key={k}'", "ftp://bob:{p}@h/x", "imap -user bob -password {p}", "kinit bob <<< {p}", "git remote set-url origin https://oauth2:{k}@gitlab.com/a/b", "svn co --username b --password {p} u", "jarsigner -storepass {p} -keypass {p} a.jar b", "passwd bob <<< '{p}'", "pg_dump --dbname=postgresql://u:{p}@h/d", "mysqladmin -u root password '{p}'", "influx -username a -password {p}",
]  # fmt: skip
PROSE = [
    "our api key is {k}", "admin pw: {p}", "use {p} as the root password", "The password for the staging database is {p}.", "log in with bob and the password {p}", "login: admin / {p}", "credentials are admin:{p}", "the wifi password was changed to {p}", "please set the password to {p}", "{p} is the password for the printer", "the secret is {k}, keep it safe", "Our Stripe secret key: {k}", "pw = {p}", "the db user is app, password {p}", "my passphrase is {p}", "you can sign in as root with {p}", "temporary password: {p}", "The token we use is {k}", "password is now {p}", "the new admin password should be {p}", "Don't forget: the vault passphrase is \"{p}\"", "the passcode to the server room is {n6}", "the token expires tomorrow: {k}", "creds: bob/{p}", "user bob pass {p}", "auth token -> {k}",
    "Das Passwort ist {p}", "das Root-Passwort lautet {p}", "unser API-Schlüssel ist {k}", "nimm {p} als Passwort für root", "Passwort: {p}", "Zugangsdaten: admin / {p}", "Das Kennwort wurde auf {p} geändert", "der Token lautet {k}", "melde dich mit dem Passwort {p} an", "Das Passwort für die Datenbank heißt {p}",
    "le mot de passe est {p}", "notre clé API est {k}", "mot de passe : {p}", "utilise {p} comme mot de passe root", "le mot de passe du serveur est {p}", "mdp: {p}", "identifiants : admin / {p}", "le jeton est {k}", "la clé secrète est {k}",
    "la contraseña es {p}", "nuestra clave de API es {k}", "contraseña: {p}", "usa {p} como contraseña de root", "la contraseña del servidor es {p}", "la clave es {p}", "credenciales: admin / {p}", "el token es {k}", "la clave secreta es {k}",
    "la password è {p}", "la nostra chiave API è {k}", "la password di root è {p}", "usa {p} come password di root", "password: {p}", "credenziali: admin / {p}", "il token è {k}", "la parola d'ordine è {p}", "la chiave segreta è {k}",
]  # fmt: skip


def _values(r: random.Random) -> dict[str, str]:
    return {
        "p": password(r), "k": key(r), "b": base64.b64encode(some(r, 90).encode()).decode(), "m": " ".join(r.choices(WORDS, k=12)), "t": some(r, 32, string.ascii_uppercase + "234567"),
        "s": some(r, 8), "h": some(r, 22), "d": some(r, 27, B64), "x": some(r, 64, HEX), "u": some(r, 120) + "__", "a": "AK" + "IA" + some(r, 16, UPPER), "a20": some(r, 20, UPPER), "w": some(r, 40, B64),
        "e": base64.b64encode(password(r).encode()).decode(), "n": str(r.randint(1000, 9999)), "n6": str(r.randint(100000, 999999)), "r": "-".join(some(r, 5, LOWER) for _ in range(4)), "h32": some(r, 32, HEX),
    }  # fmt: skip


def _planted(places: list[str], kind: str, r: random.Random) -> Iterator[dict[str, object]]:
    for place in places:
        values = _values(r)
        used = [
            value
            for name, value in values.items()
            if f"{{{name}}}" in place and name not in ("a", "a20", "s")
        ]
        yield {"text": place.format(**values), "secrets": used, "kind": kind}


def _split(r: random.Random) -> Iterator[tuple[str, list[str]]]:
    token = TOKENS[r.randrange(len(TOKENS))][1](r)
    k, p, w = some(r, 40), password(r), some(r, 40, B64)
    half = len(k) // 2
    yield f"token is {token[:20]}\n{token[20:]}", [token]
    yield f'api_key = "{k[:half]}" + \\\n    "{k[half:]}"', [k[:half], k[half:]]
    yield f'secret = ("{k[:half]}"\n          "{k[half:]}")', [k[:half], k[half:]]
    yield f"password: >-\n  {p}", [p]
    yield f"The password is:\n\n{p}", [p]
    yield f"Here is the api key:\n\n    {k}\n\nkeep it", [k]
    yield f"api_key:\n  {k[:half]}\\\n  {k[half:]}", [k[:half], k[half:]]
    quoted = urllib.parse.quote("pw!" + p + "#1", safe="")
    yield f"https://x.io/login?user=bob&password={quoted}", [quoted]
    yield (
        "https://x.io/cb?next=" + urllib.parse.quote(f"https://y.io/?access_token={k}", safe=""),
        [k],
    )
    yield f"postgres%3A%2F%2Fapp%3A{p}%40db%2Fapp", [p]
    yield "body=" + urllib.parse.quote(json.dumps({"password": p})), [urllib.parse.quote(p)]
    encoded = base64.b64encode(f"DB_PASSWORD={p}\nUSER=bob".encode()).decode()
    yield f"config: {encoded}", [encoded]
    encoded = base64.b64encode(json.dumps({"auths": {"r.io": {"password": p}}}).encode()).decode()
    yield f".dockerconfigjson: {encoded}", [encoded]
    encoded = base64.b64encode(f"the token is {token}".encode()).decode()
    yield f"decode {encoded} to get it", [encoded]
    yield f"| name | value |\n|---|---|\n| DB_PASSWORD | {p} |", [p]
    yield (
        f"| host | user | password |\n|---|---|---|\n| db | bob | {p} |\n| db2 | eve | {p}x |",
        [p],
    )
    yield f"user,password,role\nbob,{p},admin\n", [p]
    yield f"API key\t{k}", [k]
    yield f"NAME          VALUE\nDB_PASSWORD   {p}\nPORT          5432", [p]
    yield f"Username    Password\nbob         {p}", [p]
    yield f"<tr><th>Password</th><td>{p}</td></tr>", [p]
    yield f"- user: bob\n- password:\n    - {p}", [p]
    yield f"first half of the key is {k[:half]}, second half is {k[half:]}", [k[:half], k[half:]]
    yield "aws key AK" + f"IA{some(r, 16, UPPER)}\nand its secret\n{w}", [w]
    yield (
        "[default]\naws_access_key_id = AK"
        + f"IA{some(r, 16, UPPER)}\naws_secret_access_key =\n  {w}",
        [w],
    )


def cases(seeds: range) -> Iterator[dict[str, object]]:
    """Every place, once for each seed."""
    for seed in seeds:
        r = random.Random(f"corpus{seed}")
        for make in (*FORMATS, *(make for _, make in TOKENS)):
            token = make(r)
            yield {
                "text": r.choice(TOKEN_PROSE).format(token),
                "secrets": [token],
                "kind": "tokens",
            }
        yield from _planted(ASSIGNMENTS, "assignments", r)
        yield from _planted(COMMANDS, "commands", r)
        yield from _planted(PROSE, "prose", r)
        for label in BLOCKS:
            block = key_block(r, label)
            yield {
                "text": f"my key:\n{block}",
                "secrets": block.split("\n")[1:-1],
                "kind": "private keys",
            }
        yield from (
            {"text": text, "secrets": secrets, "kind": "split"} for text, secrets in _split(r)
        )
