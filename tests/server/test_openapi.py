"""The API by its own description: no request that follows it makes the server fail."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, given, settings

EXAMPLES = 6  # of each operation
ANNOTATORS = ("/questions", "/judgments")  # the owner may not use these; test_access.py shows that nobody else may
STEADY = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
STEADY = settings(STEADY, suppress_health_check=list(HealthCheck))


def test_no_request_makes_the_server_fail(hall, database_url):
    study = hall(database_url, items=4)
    owner, ann = study.owner(), study.join()
    ann.judge(1)
    schema = schemathesis.openapi.from_dict(study.client.get("/api/v1/openapi.json").json())
    operations = [each.ok() for each in schema.get_all_operations()]
    assert len(operations) > 25
    for operation in operations:
        if operation.path.endswith(("/events", "/state")):
            continue  # a stream does not end, and a study that is closed answers nothing else
        call(operation, ann if operation.path.rpartition("{name}")[2].startswith(ANNOTATORS) else owner, study)


def call(operation, who, study):
    """Call an operation with generated requests."""

    @STEADY
    @given(case=operation.as_strategy())
    def check(case):
        case.path_parameters = {**(case.path_parameters or {}), "name": study.name}
        request = case.as_transport_kwargs(base_url="http://testserver")
        request["headers"] = {**request["headers"], "Authorization": f"Bearer {who.token}"}
        request.pop("cookies", None)
        if isinstance(data := request.pop("data", None), bytes):
            request["content"] = data
        answer = study.client.request(**request)
        assert answer.status_code < 500, (operation.label, case.path_parameters, case.query, case.body, answer.text)

    check()
