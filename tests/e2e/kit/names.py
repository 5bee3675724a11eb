# SPDX-License-Identifier: Apache-2.0
"""The names under which the admin port shows what the tests look at, in one place."""

REQUESTS, OUTCOME = "saga_requests_total", "outcome"  # one per client request; label route too
OK, UPSTREAM_ABORT, CLIENT_CANCEL = "ok", "upstream_abort", "client_cancel"
NOT_INFERENCE = ("health", "models")  # routes left out of Saga.outcomes()
TOKENS, KIND = "saga_tokens_total", "kind"
PROMPT, OUTPUT, CACHED = "prompt", "output", "cached"
REFUSED, REASON = "saga_rejected_total", "reason"
BODY_TOO_LARGE = "body_too_large"
STALE = "saga_stale_conn_retries_total"
RETRIES = "saga_retries_elsewhere_total"
IN_FLIGHT = "saga_requests_active"

STATUS = "/saga/v1/status"
ENGINES = "/saga/v1/engines"
