"""The topologies that ship, changed so that a story of minutes sees what else takes hours."""

import re
from pathlib import Path

from domain import ATLAS, CMS, NORDUGRID

LIMITS = {
    "takeover_s": 2,
    "takeover_jitter_ms": 500,
    "checkpoint_interval_ms": 200,
    "counters_interval_s": 1,
    "tell_interval_s": 2,
    "backoff_max_s": 3,
    "judgements_per_cycle": 16,
    # No promise lapses within a story: only jobs and outcomes end one.
    "reservation_lifetime_h": 12,
}


def write_all(source: Path, target: Path, registry: str) -> dict[str, Path]:
    """Writes the topology of each domain, by its name, into a directory."""
    texts = {
        ATLAS.name: _atlas(_text(source, ATLAS.name)),
        CMS.name: _cms(_text(source, CMS.name)),
        NORDUGRID.name: _nordugrid(_text(source, NORDUGRID.name), registry),
    }
    files = {name: target / f"{name}.toml" for name in texts}
    for name, file in files.items():
        file.write_text(texts[name])
    return files


def rename_topics(file: Path, words: tuple[str, ...], suffix: str) -> None:
    """Gives topics of a topology new names."""
    text = file.read_text()
    for word in words:
        head = rf'(?m)(^\[topics\.{word}\]\n(?:framing = .*\n)?name = "[^"]*)'
        text, count = re.subn(head, rf"\1{suffix}", text)
        assert count == 1, f"{file} does not name topic {word} once"
    file.write_text(text)


def _text(source: Path, name: str) -> str:
    return (source / f"{name}.toml").read_text()


def _atlas(text: str) -> str:
    """Quick takeovers, and few filters for production."""
    for limit, value in LIMITS.items():
        text, count = re.subn(rf"(?m)^{limit} = .*$", f"{limit} = {value}", text)
        assert count == 1, f"the topology does not name the limit {limit} once"
    head, policy = text.split('name = "production-job"', 1)
    policy, tail = policy.split("[[policy]]", 1)
    policy = re.sub(
        r"(?s)filters = \[.*?\]", 'filters = ["status", "cpucore", "memory", "nopilot"]', policy
    )
    policy = re.sub(r"(?s)weights = \[.*?\]", 'weights = ["running", "basic"]', policy)
    policy = policy.replace("\n", "\ndefer_s = 4\ndwell_s = 0\n", 1)
    return f'{head}name = "production-job"{policy}[[policy]]{tail}'


def _limited(text: str) -> str:
    """The same limits, for a file that states none."""
    assert "[limits]" not in text, "the topology has limits of its own"
    return text + "\n[limits]\n" + "".join(f"{name} = {it}\n" for name, it in LIMITS.items())


def _cms(text: str) -> str:
    """A match is kept however long its job takes to start."""
    assert text.count('name = "cms"\nkind = "cms"\n') == 1, "the topology has another policy"
    text = text.replace("\ndefer_s = 900\n", "\ndefer_s = 4\nreservation_ttl_s = 43_200\n", 1)
    return _limited(text)


def _nordugrid(text: str, registry: str) -> str:
    """Some topics are in Confluent framing."""
    for word in NORDUGRID.framed:
        head = f"[topics.{word}]\n"
        assert text.count(head) == 1, f"the topology does not name topic {word} once"
        text = text.replace(head, f'{head}framing = "confluent"\n')
    return _limited(text) + f'\n[registry]\nurls = ["{registry}"]\n'
