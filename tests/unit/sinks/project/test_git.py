from pathlib import Path

import pytest

from subcog.sinks.project.git import normalise_remote, read_config, read_remote

BASE = Path("/src/shop")


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/shop.git",
        "github.com:acme/shop",
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git/",
        "https://user:token@GitHub.com:443/Acme/Shop.git",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@github.com:2222//acme/shop",
        "git://github.com/acme/shop.git",
        " https://github.com/acme/shop\n",
        "https://www.github.com/acme/shop",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "org-1234@github.com:acme/shop.git",
    ],
)
def test_one_repository_has_one_spelling(url):
    assert normalise_remote(url, BASE) == "github.com/acme/shop"


@pytest.mark.parametrize(
    "url",
    [
        "git@git.example.com:Acme/shop.git",
        "git.example.com:Acme/shop",
        "https://git.example.com/Acme/shop",
        "https://git.example.com/Acme/shop.git//",
        "https://ana:token@GIT.example.com:443/Acme/shop.git",
        "http://git.example.com:80/Acme/shop",
        "ssh://git@git.example.com/Acme/shop.git",
        "ssh://git@git.example.com:22/Acme/shop.git/",
        "git://git.example.com:9418/Acme//shop.git",
    ],
)
def test_one_repository_has_one_spelling_on_any_host(url):
    assert normalise_remote(url, BASE) == "git.example.com/Acme/shop"


def test_users_ports_and_the_case_of_a_path_tell_repositories_apart():
    urls = [
        "srv:proj.git",
        "alice@srv:proj.git",
        "bob@srv:proj.git",
        "srv:Proj.git",
        "www.srv:proj.git",
        "ssh://git@srv:2222/proj.git",
        "ssh://git@srv:3333/proj.git",
        "ssh://alice@srv:2222/proj.git",
        "https://srv:8443/proj.git",
    ]
    assert len({normalise_remote(url, BASE) for url in urls}) == len(urls)
    assert normalise_remote("ssh://alice@SRV:22/proj", BASE) == normalise_remote(urls[1], BASE)


@pytest.mark.parametrize("url", ["/srv/git/shop", "file:///srv/shop", "", "https://host/", "x"])
def test_a_path_is_no_remote_elsewhere(url):
    assert read_remote(url) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:3000/acme/shop", "localhost:3000/acme/shop"),
        ("git@[::1]:acme/shop.git", "[::1]/acme/shop"),
        ("https://git.example.com/a/b/c/shop.git", "git.example.com/a/b/c/shop"),
        ("/srv/git/shop.git", "/srv/git/shop"),
        ("file:///srv/git/shop/.git", "/srv/git/shop"),
        ("../library", "/src/library"),
        ("C:/work/shop", "/src/shop/C:/work/shop"),
        ("", ""),
        ("https://", ""),
        ("https://host/", ""),
        ("git@host:", "/src/shop/git@host:"),
    ],
)
def test_other_remotes(url, expected):
    assert normalise_remote(url, BASE) == expected


@pytest.mark.parametrize(
    "url",
    [
        "https://x-token:s3cret@host/acme/shop.git",
        "https://host/acme/shop.git?private_token=s3cret",
        "http://host/acme/shop/#s3cret",
    ],
)
def test_tokens_in_a_remote_leave_no_trace(url):
    assert normalise_remote(url, BASE) == "host/acme/shop"


def test_over_ssh_a_path_may_hold_any_character():
    assert normalise_remote("git@host:acme/c#-shop.git", BASE) == "host/acme/c#-shop"


def test_a_config_is_read_as_git_writes_it():
    config = read_config(
        "\ufeff# a comment\n"
        "[Core]\n\trepositoryformatversion = 0 ; old\n\tbare=false\n"
        '[remote "up\\"stream"]\n\turl = https://host/other\n'
        '[remote "origin"] url = "https://host/a b#c"\n'
        "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        "[branch]\n\tautosetuprebase\n"
    )
    assert config["remote.origin.url"] == "https://host/a b#c"
    assert config['remote.up"stream.url'] == "https://host/other"
    assert config["core.repositoryformatversion"] == "0"


@pytest.mark.parametrize(
    "text", ["", "[", "[remote", '[remote "', "=", "url = x", "\x00" * 10, "[]"]
)
def test_a_broken_config_names_no_remote(text):
    assert "remote.origin.url" not in read_config(text)


def test_a_long_line_takes_no_time():
    hostile = '[remote "' + "\\" * 200_000
    assert read_config(hostile) == {}
