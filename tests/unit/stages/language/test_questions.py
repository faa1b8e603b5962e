import pytest

from subcog.bus.prompts import IntentType
from subcog.stages.language.questions import asking_part, read_question

EXPLAINS, SHOWS_WAY, LOCATES, MENDS, ANY = (
    IntentType.EXPLANATION,
    IntentType.HOWTO,
    IntentType.LOCATION,
    IntentType.TROUBLESHOOT,
    IntentType.GENERAL,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("warum nehmen wir eigentlich nicht google maps?", EXPLAINS),
        ("womit spiele ich die testdaten ein", SHOWS_WAY),
        ("wo liegen die Schlüssel für staging?", LOCATES),
        ("hatten wir das schon mal, dass der build hängt?", MENDS),
        ("Kannst du mir sagen, wer den Vertrag hat?", ANY),
        ("pourquoi on a viré elastic", EXPLAINS),
        ("le rapport bouffait toute la ram, on avait trouvé quoi", ANY),
        ("comment on encaisse tant que le virement attend ?", SHOWS_WAY),
        ("xq no usamos influx para las series", EXPLAINS),
        ("donde se guardan las copias", LOCATES),
        ("puedo usar ñ en el nombre de un topic?", SHOWS_WAY),
        ("por que não usamos kafka nas filas", EXPLAINS),
        ("onde ficam os backups do banco", LOCATES),
        ("perché non usiamo kafka per le code", EXPLAINS),
        ("dove sono i log del worker", LOCATES),
        ("почему мы не используем kafka", EXPLAINS),
        ("где лежат ключи для staging", LOCATES),
        ("我们为什么没用 k8s", EXPLAINS),
        ("项目怎么在本地跑起来", SHOWS_WAY),
        ("バックアップはどこに取ってる？", LOCATES),
        ("なんで管理側 react じゃないの", EXPLAINS),
        ("왜 Redis 연결이 끊어져?", ANY),
        ("لماذا نستخدم Redis؟", ANY),
    ],
)
def test_a_question_is_heard_with_its_kind(text: str, kind: IntentType) -> None:
    asked = read_question(text)
    assert asked is not None
    assert asked.intent_type is kind


@pytest.mark.parametrize(
    "text",
    [
        "why do we use redis?",
        "schreib nen test für den TagDebouncer mit zwei tonnen",
        "Kannst du bitte die Tests laufen lassen?",
        "der button im dialog ist abgeschnitten, fix das mal",
        "danke, das passt so für mich",
        "ajoute un filtre par espèce sur la page des lots",
        "peux-tu lancer les tests pour moi ?",
        "merci, c'est parfait",
        "haz un script que borre los nodos de prueba",
        "puedes subir los cambios por favor?",
        "adiciona um filtro na página dos lotes",
        "aggiungi un filtro nella pagina dei lotti",
        "добавь фильтр на страницу заказов",
        "можешь запустить тесты?",
        "把日志级别改成 info 然后提交",
        "这个 npe 帮我修一下",
        "辛苦了",
        "このメソッド長いから分割して",
        "テストを書いてもらえますか？",
        "ありがとう！",
    ],
)
def test_orders_chat_and_english_are_no_question_of_another_language(text: str) -> None:
    assert read_question(text) is None


MINUTES = (
    "Hallo zusammen, das Protokoll der Sitzung mit der Stadt. 1. Der Winterbetrieb räumt nur an"
    " Hauptstraßen. 2. Frau Brenner fragt, wer die 214 falsch abgestellten Räder holt und wann.\n"
    "3. Das Förderprogramm wird bis Januar verlängert; den Antrag schreibt Kessler. Wie viele Räder"
    " neu kommen, ist offen. Nächster Termin: 10. Dezember, 14 Uhr, Rathaus.\nViele Grüße\nJonas"
)
ASKED = "Wird die Mehrwertsteuer pro Minute oder am Fahrtende gerundet?"
QUOTED = "> " + MINUTES.replace("\n", "\n> ")
RUNNING = MINUTES.partition("\nViele")[0].replace("\n", " ") * 2


@pytest.mark.parametrize(
    "text",
    [
        f"{MINUTES}\n\n{ASKED}",
        f"{MINUTES}\n{ASKED}",
        f"{ASKED}\n{MINUTES}",
        f"```\n{MINUTES}\n```\n{ASKED}",
        f"{ASKED}\n\n{QUOTED}",
        f"{RUNNING} {ASKED}",
        ASKED,
    ],
    ids="blank newline before fence quote running alone".split(),
)
def test_beside_a_long_pasted_text_its_ends_ask(text: str) -> None:
    assert asking_part(text) == ASKED
    asked = read_question(text)
    assert asked is not None
    assert "mehrwertsteuer" in asked.topics


def test_a_long_pasted_text_that_an_order_is_about_asks_nothing() -> None:
    for order in ("Fass das in drei Sätzen zusammen.", "Kannst du das übersetzen?"):
        assert asking_part(f"{MINUTES}\n\n{order}") == ""
    assert read_question("会议记录：下周发布，由小李负责。" * 20 + "\n翻译成英文") is None


def test_a_short_text_asks_as_a_whole_and_so_does_an_english_one() -> None:
    for text in ("Stripe schickt doppelt.\nWas tun?\nDanke", "minutes of the meeting.\n" * 40):
        assert asking_part(text) == text


def test_topics_are_the_words_that_say_what_it_is_about() -> None:
    asked = read_question("Warum nutzen wir zwei Server für die Routenberechnung mit GraphHopper?")
    assert asked is not None
    assert asked.topics == ("server", "routenberechnung", "graphhopper")
