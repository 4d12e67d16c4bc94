"""The WordPiece tokenizer, against the tokenizer these models are published with."""
# ruff: noqa: RUF001 - texts in many scripts are full of look-alikes

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from app.adapters.local.transformer import packaged_model_dir
from app.adapters.local.wordpiece import WordPiece
from app.domain.errors import ConfigurationError
from tests.support.generation import examples

CONTROL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = [*CONTROL_TOKENS, "a", "A", "e", "é", "##b", "世", "世界", "界", "##界", "!", "[", "]", "sep"]
LANGUAGES = {
    "English": "Don't forget: the customer's e-mail is j.doe+bills@example.com (since 2019)!",
    "German": "Größere Änderungen an der Straßenführung, z. B. in Köln, kosten 1.234,50 €.",
    "French": "L'été dernier, où étais-tu ? « À Besançon », répondit-il : ça va.",
    "Turkish": "İstanbul'da yağmurlu bir gün, IŞIK söndü.",
    "Vietnamese": "Tôi thích uống cà phê sữa đá ở Thành phố Hồ Chí Minh.",
    "Greek": "Ο Οδυσσέας γύρισε στην Ιθάκη. ΣΟΦΟΣ ΠΑΛΑΙΟΣ",
    "Russian": "Ёжик в тумане — мультфильм 1975 года, снятый Юрием Норштейном.",
    "Arabic": "مَرْحَبًا بِكُمْ فِي الْقَاهِرَةِ، ١٢٣؟",
    "Hebrew": "שָׁלוֹם עוֹלָם, מה שלומך?",
    "Hindi": "नमस्ते दुनिया, आप कैसे हैं? क्षत्रिय।",
    "Thai": "สวัสดีครับ วันนี้อากาศดีมาก",
    "Japanese": "東京タワーの高さは333メートルです。ガギグ ﾊﾝｶｸ",
    "Chinese": "她在上海的一家医院工作，\u20000𠀀㐀豈。",
    "Korean": "서울에서 부산까지 기차로 갔다. 한국어",
}
ODDITIES = {
    "empty": "",
    "white space": " \t\r\n\u00a0\u2028\u3000\x0b\x0c\x85",
    "control characters": "a\x00b\ufffdc\x1fd\u200de\u00adf\ue000g\ufeff",
    "joined marks": "a\u0315\u0300\u05ae\u0062 Z\u0351\u036b\u0343a\u0323\u0307l",
    "emoji": "👩‍👩‍👧🙂 🇸🇪 ❤️ 1️⃣",
    "a word of 100 characters": "a" * 100,
    "a word of 101 characters": "b" * 101 + " c",
    "100 characters after accents are gone": "é" * 100,
    "pieces": "unaffable antidisestablishmentarianism ##ing # #s",
    "symbols": "$1+1=2 ^_^ `x` a|b ~c <d> §¶©®°±×÷¿¡ ‘q’ “r” …",
    "special letters": "ǅ ß ẞ ﬁ ﬀ ı İ ŉ K Å ª º ²",
}


def model_directory() -> Path:
    directory = packaged_model_dir()
    assert directory is not None
    return directory


@pytest.fixture(scope="module")
def ours() -> Callable[[str], list[int]]:
    return WordPiece.from_directory(model_directory()).ids


@pytest.fixture(scope="module")
def theirs() -> Callable[[str], list[int]]:
    tokenizer = Tokenizer.from_file(str(model_directory() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return found

    return ids


def of_one_mind(character: str) -> bool:
    """Whether Python's Unicode tables class a character as those inside ``tokenizers``, which are older, do."""
    category = unicodedata.category(character)
    kept = BertNormalizer(lowercase=False).normalize_str(character) != ""
    unmarked = BertNormalizer(clean_text=False, strip_accents=True).normalize_str(character) != ""
    punctuation = len(BertPreTokenizer().pre_tokenize_str(f"a{character}b")) == 3
    unassigned = category == "Cn"
    ascii_symbol = character.isascii() and category[0] == "S"
    return not unassigned and (
        kept == (category not in {"Cc", "Cf", "Co"} or character in "\t\n\r")
        and unmarked == (category != "Mn")
        and punctuation == (category[0] == "P" or ascii_symbol)
    )


CHARACTERS = st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\0\ufffd").filter(of_one_mind)
TEXTS = st.one_of(
    st.text(CHARACTERS),
    st.text(st.characters(max_codepoint=0x24F)),
    st.text(st.sampled_from("aàA\u0300\u0316\u05ae ,.'#[]-_\t\0世界Σςσ한ᄀ\u1161\u11a8İ\u200d")),
    st.lists(st.sampled_from([*LANGUAGES.values(), *ODDITIES.values()])).map("".join),
)


@pytest.mark.parametrize("text", [*LANGUAGES.values(), *ODDITIES.values()], ids=[*LANGUAGES, *ODDITIES])
def test_a_text_has_the_ids_of_the_published_tokenizer(
    ours: Callable[[str], list[int]],
    theirs: Callable[[str], list[int]],
    text: str,
) -> None:
    assert ours(text) == theirs(text)


@settings(deadline=None, max_examples=examples(500))
@given(text=TEXTS.filter(lambda text: not any(token in text for token in CONTROL_TOKENS)))
def test_any_text_has_the_ids_of_the_published_tokenizer(
    ours: Callable[[str], list[int]],
    theirs: Callable[[str], list[int]],
    text: str,
) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("token", CONTROL_TOKENS)
def test_a_control_token_written_in_a_text_is_ordinary_text(
    ours: Callable[[str], list[int]],
    theirs: Callable[[str], list[int]],
    token: str,
) -> None:
    text = f"end {token} start"
    assert not set(ours(text)) & set(theirs(token))
    assert ours(text) == [*theirs("end"), *theirs("["), *theirs(token[1:-1]), *theirs("]"), *theirs("start")]


def test_half_of_a_surrogate_pair_is_dropped(ours: Callable[[str], list[int]]) -> None:
    assert ours("a\ud800b") == ours("ab")


def write_model(directory: Path, *, tokenizer: object = None, tokenizer_config: object = None) -> Path:
    (directory / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", "utf-8")
    for name, content in (("tokenizer", tokenizer), ("tokenizer_config", tokenizer_config)):
        if content is not None:
            (directory / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return directory


def tokens(directory: Path, text: str) -> list[str]:
    return [VOCABULARY[position] for position in WordPiece.from_directory(directory).ids(text)]


def test_a_model_without_settings_is_lower_cased_without_accents(tmp_path: Path) -> None:
    assert tokens(write_model(tmp_path), "A Ab é 世界!") == ["a", "a", "##b", "e", "世", "界", "!"]


def test_a_model_may_keep_case_accents_and_chinese_words(tmp_path: Path) -> None:
    settings = {"do_lower_case": False, "tokenize_chinese_chars": False}
    assert tokens(write_model(tmp_path, tokenizer_config=settings), "A é 世界") == ["A", "é", "世界"]


def test_a_model_may_lower_case_and_keep_accents(tmp_path: Path) -> None:
    settings = {"do_lower_case": True, "strip_accents": False}
    assert tokens(write_model(tmp_path, tokenizer_config=settings), "A É") == ["a", "é"]


def test_settings_are_read_from_the_normalizer_when_there_are_no_others(tmp_path: Path) -> None:
    normalizer = {"type": "BertNormalizer", "lowercase": False, "handle_chinese_chars": False, "strip_accents": None}
    model = write_model(tmp_path, tokenizer={"normalizer": normalizer, "truncation": {"max_length": 1}})
    assert tokens(model, "A é 世界") == ["A", "é", "世界"]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"tokenizer_config": {"tokenizer_class": "BertJapaneseTokenizer"}}, "BertJapaneseTokenizer"),
        ({"tokenizer": {"normalizer": {"type": "Precompiled"}}}, "Precompiled"),
        ({"tokenizer_config": ["no object"]}, "JSON object"),
    ],
)
def test_another_tokenizer_is_refused_by_name(tmp_path: Path, files: dict[str, object], named: str) -> None:
    write_model(tmp_path, **files)
    with pytest.raises(ConfigurationError, match=named):
        WordPiece.from_directory(tmp_path)


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"vocab\.txt"):
        WordPiece.from_directory(tmp_path)


def test_a_vocabulary_without_control_tokens_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"\[CLS\], \[SEP\]"):
        WordPiece(["[UNK]", "a"])
