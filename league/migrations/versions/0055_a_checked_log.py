"""PostgreSQL numbers and checks each new record of the audit log, so that no writer can stop or break it."""

from alembic import op

revision = "0055"
down_revision = "0054"

# `line` is `league.verification.fairness.canonical`. A writer may have a temporary table called audit_log.
CHECK = r"""
CREATE FUNCTION audit_log_false_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE newest record; line text; BEGIN
    EXECUTE format('SELECT id, sha256 FROM %I.audit_log ORDER BY id DESC LIMIT 1', TG_TABLE_SCHEMA) INTO newest;
    NEW.id := coalesce(NEW.id, newest.id + 1, 1);
    line := format('{"action":%s,"actor":%s,"at":%s,"data":%s,"prev":%s,"subject":%s}', to_json(NEW.action),
        to_json(NEW.actor), to_json(NEW.at), to_json(NEW.data), to_json(NEW.prev_sha256), to_json(NEW.subject));
    SELECT string_agg(CASE WHEN ascii(letter) BETWEEN 32 AND 126 THEN letter
        WHEN ascii(letter) < 65536 THEN '\u' || lpad(to_hex(ascii(letter)), 4, '0')
        ELSE '\u' || to_hex(55232 + (ascii(letter) >> 10)) || '\u' || to_hex(56320 + (ascii(letter) & 1023)) END,
        '' ORDER BY place) INTO line FROM regexp_split_to_table(line, '') WITH ORDINALITY AS parts (letter, place);
    IF NEW.id <= newest.id OR NEW.prev_sha256 <> coalesce(newest.sha256, repeat('0', 64))
        OR NEW.sha256 <> encode(sha256(convert_to(line, 'UTF8')), 'hex')
        OR json_typeof(NEW.data::json) <> 'object' OR NEW.subject ~ '^(match|series)/(?!\d{1,9}$)'
        OR NEW.at !~ '^[^.+]{19}(\.\d{6})?\+00:00$'
        OR left(NEW.at, 19) <> to_char(NEW.at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') THEN
        RAISE EXCEPTION 'the record does not continue audit_log, or cannot be read'; END IF; RETURN NEW; END $$;
CREATE TRIGGER audit_log_chain BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_false_refuse();
DROP SEQUENCE audit_log_id_seq CASCADE"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(CHECK)
