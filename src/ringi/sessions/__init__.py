"""Planning sessions (IP): a person clarifies, decides and approves what to do. Nothing is executed.

`document` is the session with its states, `operations` changes it by pure functions, `tool` has its calls and
saves each one, `model` asks for questions, decisions and a summary, `playbook` answers the same without a
model, `agent_input` takes them from an agent, `approve` binds what the person approved.

Start with `tool` and `operations`. What becomes of an approved session is the business of `runs`.
"""
