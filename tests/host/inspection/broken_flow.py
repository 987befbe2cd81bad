"""Mistakes in flows and the domain."""

from __future__ import annotations

from tests.host.inspection.mistake import BOOKING, Broken

FLOWS = {
    "a slot of exit_if that the domain lacks": Broken(
        file=BOOKING,
        old="slots.investment_amount",
        new="slots.investment_amonut",
        line="investment_amonut",
        key="is not null",
        problem="no slot 'investment_amonut'",
        fix="'investment_amount'",
    ),
    "a slot of exit_if that nothing fills": Broken(
        file="domain.yml",
        old="""      - tax
    mappings:
      - type: from_llm""",
        new="""      - tax
    mappings:
      - type: controlled""",
        at=BOOKING,
        line="exit_if",
        key="exit_if",
        problem="waits for slot 'advisor_topic'",
        fix="process_tool_output",
        level="warning",
    ),
    "broken YAML in a flow": Broken(
        file="flows/explore_stocks.yml",
        old="    steps:",
        new="    steps: [",
        line="- call: stock_explorer",
        key="",
        problem="did not find expected",
        fix="Correct the YAML",
    ),
    "a call of an agent that is not there": Broken(
        file="flows/explore_stocks.yml",
        old="call: stock_explorer",
        new="call: stock_explorr",
        line="stock_explorr",
        key="stock_explorr",
        problem="no flow or agent 'stock_explorr'",
        fix="'stock_explorer'",
    ),
    "an action of a flow that the domain lacks": Broken(
        file="flows/opening_hours.yml",
        old="utter_opening_hours",
        new="utter_openin_hours",
        line="utter_openin_hours",
        key="utter_openin_hours",
        problem="no response or action 'utter_openin_hours'",
        fix="'utter_opening_hours'",
    ),
    "a slot that is collected and not in the domain": Broken(
        file=BOOKING,
        old="collect: appointment_day",
        new="collect: apointment_day",
        line="apointment_day",
        key="apointment_day",
        problem="no slot 'apointment_day'",
        fix="'appointment_day'",
    ),
    "a slot that is collected and nobody asks for": Broken(
        file="domain.yml",
        old="utter_ask_appointment_day",
        new="utter_ask_apointment_day",
        at=BOOKING,
        line="collect: appointment_day",
        key="appointment_day",
        problem="no response 'utter_ask_appointment_day'",
        fix="'utter_ask_apointment_day'",
    ),
    "a slot of a condition that the domain lacks": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- action: utter_opening_hours\n        next:\n"
        "          - if: slots.apointment_by_phone\n            then: END\n          - else: END",
        line="if: slots.apointment_by_phone",
        key="apointment_by_phone",
        problem="no slot 'apointment_by_phone'",
        fix="'appointment_by_phone'",
    ),
    "a slot that a flow sets and the domain lacks": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- set_slots:\n          - apointment_day: Monday\n      - action: utter_opening_hours",
        line="apointment_day",
        key="apointment_day",
        problem="no slot 'apointment_day'",
        fix="'appointment_day'",
    ),
    "a condition without the namespace of slots": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- action: utter_opening_hours\n        next:\n"
        "          - if: appointment_by_phone\n            then: END\n          - else: END",
        line="if: appointment_by_phone",
        key="opening_hours",
        problem="Rasa says: Predicate 'appointment_by_phone'",
        fix="namespace",
    ),
    "a button of a response that does nothing": Broken(
        file="domain.yml",
        old="- text: Which day suits you?",
        new="- text: Which day suits you?\n      buttons:\n        - title: Monday",
        line="utter_ask_appointment_day",
        key="responses: utter_ask_appointment_day",
        problem="does not have a payload",
        fix="Please add a payload",
    ),
    "a link to a flow that is not there": Broken(
        file="flows/opening_hours.yml",
        old="- action: utter_opening_hours",
        new="- action: utter_opening_hours\n      - link: explore_stoks",
        line="link: explore_stoks",
        key="explore_stoks",
        problem="no flow 'explore_stoks'",
        fix="'explore_stocks'",
    ),
    "a misspelt section of the domain": Broken(
        file="domain.yml",
        old="responses:",
        new="resposes:",
        line="resposes:",
        key="resposes",
        problem="unknown",
        fix="'responses'",
    ),
    "a misspelt section of the flows": Broken(
        file="flows/opening_hours.yml",
        old="flows:",
        new="flws:",
        line="flws:",
        key="flws",
        problem="unknown",
        fix="'flows'",
    ),
}
