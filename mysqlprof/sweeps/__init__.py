"""What triggers a scenario's symptom, how it scales, what helps.

Each is a plan derived from the scenario and rows judged from what was measured.
"""
