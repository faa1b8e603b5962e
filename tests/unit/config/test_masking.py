import pytest

from subcog.config.masking import without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana:s3cret@db:5432/x", "postgresql://ana:…@db:5432/x"),
        ("postgresql://ana:a:b/c?d#e@f@db/x", "postgresql://ana:…@db/x"),
        ("postgresql://:s3cret@db/x", "postgresql://:…@db/x"),
        ("postgresql://ana@db/x?password=s3cret&sslmode=require", None),
        ("host=db password=s3cret user=ana", "host=db password=… user=ana"),
        (r"host=db password = 's3\' cret' user=ana", "host=db password = … user=ana"),
        ("postgresql://db/x?sslpassword=s3cret", "postgresql://db/x?sslpassword=…"),
    ],
)
def test_no_password_is_left_in_an_address(url, shown):
    assert shown is None or without_password(url) == shown
    assert "cret" not in without_password(url)


@pytest.mark.parametrize(
    "url", ["", "postgresql://ana@db:5432/x", "postgresql:///x", "http://localhost:11434/v1"]
)
def test_an_address_without_one_stays_as_it_is(url):
    assert without_password(url) == url
