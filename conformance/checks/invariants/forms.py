"""Forms: what the user is asked for by forms and URLs, and by the error that wants a URL opened first."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.questions import questions
from conformance.codes import URL_REQUIRED
from conformance.model import Frame, Json, Severity
from conformance.session.session import Call

SECRETS = "elicitation/no-secrets-in-forms"
CLICKABLE = "elicitation/no-clickable-urls-in-form"
USER_DATA = "elicitation/url-without-user-data"
ERROR_DATA = "elicitation/url-required-error-data"
ERROR_ONLY = "elicitation/url-required-error-only-then"
ERROR_CODE = "elicitation/url-required-error-code"


_SECRET = re.compile(
    r"(^| )(password|passphrase|passwd|passcode|api ?key|secret|secret key|private key|access key|credentials?|"
    r"(access|auth|api|bearer|refresh|session|personal access|secret) token|(credit |debit )?card number|credit card|"
    r"cvv|cvc)$"
)
_LINK = re.compile(r"(?i)\bhttps?://(?!([a-z0-9-]{1,63}\.){0,20}example\.(com|org|net)\b|localhost\b|127\.)[^\s<>\"']+")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(\.[\w-]+){0,20}\.[A-Za-z]{2,}\b")
_CREDENTIALS = ("access_token", "api_key", "apikey", "password", "passwd", "client_secret", "ssn")


class Forms(Watcher):
    """See the module. What a form is for is guessed by the words in it, so those rules only warn."""

    name = "forms"
    requirements: ClassVar[tuple[str, ...]] = (SECRETS, CLICKABLE, USER_DATA, ERROR_DATA, ERROR_ONLY, ERROR_CODE)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge requests to the user, and errors that stand for them."""
        for method, params in questions(frame, call):
            if method == "elicitation/create":
                proof = (frame,) if call is None else (call.sent, frame)
                if params.get("mode", "form") == "form":
                    self._form(params, proof)
                elif isinstance(params.get("url"), str):
                    self._url(params["url"], proof)
        message = frame.message
        error = message.get("error") if isinstance(message, dict) and "method" not in message else None
        if isinstance(error, dict) and call is not None and self.session.revision.url_errors:
            self._error(error, call, frame)

    # -- forms

    def _form(self, params: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        schema = params.get("requestedSchema")
        listed = schema.get("properties") if isinstance(schema, dict) else None
        properties = {k: v for k, v in listed.items() if isinstance(v, dict)} if isinstance(listed, dict) else {}
        secret = next((name for name, each in properties.items() if is_secret(name, each)), None)
        if secret is None:
            self.ledger.held(SECRETS)
        else:
            what = "a form asks the user for what looks like a secret"
            actual = {secret: properties[secret]}
            self.breach(SECRETS, what, "no passwords, keys, tokens or cards", actual, proof, Severity.WARNING)
        texts = [params.get("message")]
        texts += [each.get(member) for each in properties.values() for member in ("title", "description")]
        link = next((found for text in texts if isinstance(text, str) and (found := _LINK.search(text))), None)
        if link is None:
            self.ledger.held(CLICKABLE)
        else:
            self.breach(CLICKABLE, "a form has a URL in its text", "no URL to click", link[0], proof, Severity.WARNING)

    def _url(self, url: str, proof: tuple[Frame, ...]) -> None:
        found = user_data(url)
        if not found:
            self.ledger.held(USER_DATA)
            return
        what = "the url of an elicitation holds what looks like data of the user"
        self.breach(USER_DATA, what, "a URL without personal data and credentials", found, proof, Severity.WARNING)

    # -- errors

    def _error(self, error: dict[str, Json], call: Call, frame: Frame) -> None:
        data = error.get("data")
        listed = data.get("elicitations") if isinstance(data, dict) else None
        proof = (call.sent, frame)
        if error.get("code") != URL_REQUIRED:
            if isinstance(listed, list) and any(isinstance(e, dict) and e.get("mode") == "url" for e in listed):
                what = "an error that lists URLs for the user to open has another code"
                ceiling = Severity.WARNING
                self.breach(ERROR_CODE, what, f"code {URL_REQUIRED}", error.get("code"), proof, ceiling)
            return
        if not isinstance(listed, list) or not listed:
            what = f"the error {URL_REQUIRED} is given without an elicitation that is required"
            self.breach(ERROR_ONLY, what, "data.elicitations with at least one", error, proof, None)
            self.ledger.block(ERROR_DATA, ERROR_ONLY)
            return
        self.ledger.held(ERROR_CODE)
        self._only_for_those_who_can(proof, error)
        wrong = next((flaw for each in listed if (flaw := _flaw(each))), "")
        if wrong:
            expected = "mode url, elicitationId, url and message in each"
            what = f"the error {URL_REQUIRED} lists an elicitation that is none by URL"
            self.breach(ERROR_DATA, what, expected, f"{wrong}: {shorten(listed)}", proof, None)
            return
        self.ledger.held(ERROR_DATA)
        for each in listed:
            self._url(each["url"], proof)

    def _only_for_those_who_can(self, proof: tuple[Frame, ...], error: Json) -> None:
        modes = self.session.client.get("elicitation")
        if isinstance(modes, dict) and "url" in modes:
            self.ledger.held(ERROR_ONLY)
            return
        what = f"the error {URL_REQUIRED} is given to a client that did not declare elicitation.url"
        self.breach(ERROR_ONLY, what, "another error, or isError", error, proof, Severity.WARNING)


def _flaw(listed: Json) -> str:
    """Why a listed elicitation is none by URL, "" if it is one."""
    if not isinstance(listed, dict):
        return "no object"
    if listed.get("mode") != "url":
        return f"mode {shorten(listed.get('mode'))}"
    lacking = [name for name in ("elicitationId", "url", "message") if not isinstance(listed.get(name), str)]
    return f"no {lacking[0]}" if lacking else ""


def is_secret(name: str, schema: dict[str, Json]) -> bool:
    """Whether a property of a form looks like one for a secret; only text that the user types can be one."""
    if schema.get("type", "string") != "string" or "enum" in schema or "oneOf" in schema:
        return False
    named = [name, schema.get("title")]
    return any(isinstance(text, str) and _SECRET.search(_words(text)) is not None for text in named)


def _words(text: str) -> str:
    """`apiKey`, `API_KEY` and `API key` alike as `api key`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[^a-z0-9]+", " ", spaced.lower()).strip()


def user_data(url: str) -> str:
    """What in a URL looks like personal data or a credential, "" if nothing does."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return ""
    if password:
        return "a password before the host"
    for name, value in parse_qsl(parts.query):
        if name.lower() in _CREDENTIALS and value:
            return f"the parameter {name}"
    mail = _MAIL.search(unquote(f"{parts.path}?{parts.query}#{parts.fragment}"))
    return f"the address {mail[0]}" if mail else ""
