-- The schema of 0.2.0, the first release, as PostgreSQL takes it; SQLite has other words for three of the types.

CREATE TABLE audit_log (
    id SERIAL NOT NULL CONSTRAINT pk_audit_log PRIMARY KEY,
    at VARCHAR(40) NOT NULL,
    actor VARCHAR(32) NOT NULL,
    action VARCHAR(64) NOT NULL,
    subject VARCHAR(128) NOT NULL,
    data TEXT NOT NULL,
    prev_sha256 VARCHAR(64) NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    CONSTRAINT uq_audit_log_prev_sha256 UNIQUE (prev_sha256),
    CONSTRAINT uq_audit_log_sha256 UNIQUE (sha256)
);

CREATE TABLE season (
    id SERIAL NOT NULL CONSTRAINT pk_season PRIMARY KEY,
    game VARCHAR(64) NOT NULL,
    name VARCHAR(64) NOT NULL,
    name_key VARCHAR(64) NOT NULL,
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_season_state CHECK (state IN ('scheduled', 'open', 'frozen', 'finals', 'closed')),
    series_length INTEGER NOT NULL CONSTRAINT ck_season_series_length CHECK (series_length BETWEEN 1 AND 1000),
    games_per_pair INTEGER
        CONSTRAINT ck_season_games_per_pair CHECK (games_per_pair IS NULL OR games_per_pair >= 1),
    opens_at TIMESTAMPTZ,
    closes_at TIMESTAMPTZ,
    log_serial INTEGER NOT NULL,
    rated_serial INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    previous_id INTEGER CONSTRAINT fk_season_previous_id REFERENCES season (id),
    ranks VARCHAR(16) DEFAULT 'placement' NOT NULL
        CONSTRAINT ck_season_ranks CHECK (ranks IN ('placement', 'wins')),
    seats INTEGER DEFAULT 2 NOT NULL CONSTRAINT ck_season_seats CHECK (seats >= 2),
    freezes_at TIMESTAMPTZ,
    finals_at TIMESTAMPTZ,
    qualified_at TIMESTAMPTZ,
    finals VARCHAR(16) DEFAULT 'none' NOT NULL
        CONSTRAINT ck_season_finals CHECK (finals IN ('none', 'round-robin', 'swiss')),
    finals_games INTEGER DEFAULT 10 NOT NULL
        CONSTRAINT ck_season_finals_games CHECK (finals_games BETWEEN 1 AND 1000),
    finals_extra_games INTEGER DEFAULT 0 NOT NULL
        CONSTRAINT ck_season_finals_extra_games CHECK (finals_extra_games >= 0),
    finals_log VARCHAR(16) DEFAULT 'season' NOT NULL
        CONSTRAINT ck_season_finals_log CHECK (finals_log IN ('season', 'finals')),
    closes_when_done BOOLEAN DEFAULT true NOT NULL,
    promoted INTEGER DEFAULT 0 NOT NULL CONSTRAINT ck_season_promoted CHECK (promoted >= 0),
    admission VARCHAR(16) DEFAULT 'everyone' NOT NULL
        CONSTRAINT ck_season_admission CHECK (admission IN ('everyone', 'invited', 'nobody')),
    teams_only BOOLEAN DEFAULT false NOT NULL,
    languages JSON,
    challenge_games INTEGER DEFAULT 1000 NOT NULL CONSTRAINT ck_season_challenge_games CHECK (challenge_games >= 0),
    finals_top INTEGER CONSTRAINT ck_season_finals_top CHECK (finals_top IS NULL OR finals_top >= 2),
    finals_rounds INTEGER CONSTRAINT ck_season_finals_rounds CHECK (finals_rounds IS NULL OR finals_rounds >= 1),
    entries_per_author INTEGER
        CONSTRAINT ck_season_entries_per_author CHECK (entries_per_author IS NULL OR entries_per_author >= 1),
    uploads_per_hour INTEGER
        CONSTRAINT ck_season_uploads_per_hour CHECK (uploads_per_hour IS NULL OR uploads_per_hour >= 1),
    versions_per_day INTEGER
        CONSTRAINT ck_season_versions_per_day CHECK (versions_per_day IS NULL OR versions_per_day >= 1),
    finals_done_at TIMESTAMPTZ,
    pairing_seed BYTEA,
    series_planned INTEGER DEFAULT 0 NOT NULL,
    secret BYTEA,
    deals INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT ck_season_dates CHECK (opens_at IS NULL OR closes_at IS NULL OR opens_at < closes_at),
    CONSTRAINT ck_season_opens_at_freezes_at CHECK (opens_at IS NULL OR freezes_at IS NULL OR opens_at < freezes_at),
    CONSTRAINT ck_season_opens_at_finals_at CHECK (opens_at IS NULL OR finals_at IS NULL OR opens_at < finals_at),
    CONSTRAINT ck_season_freezes_at_finals_at CHECK (freezes_at IS NULL OR finals_at IS NULL OR freezes_at < finals_at),
    CONSTRAINT ck_season_freezes_at_closes_at CHECK (freezes_at IS NULL OR closes_at IS NULL OR freezes_at < closes_at),
    CONSTRAINT ck_season_finals_at_closes_at CHECK (finals_at IS NULL OR closes_at IS NULL OR finals_at < closes_at),
    CONSTRAINT uq_season_name_key UNIQUE (name_key)
);

CREATE TABLE user_account (
    id SERIAL NOT NULL CONSTRAINT pk_user_account PRIMARY KEY,
    name VARCHAR(32) NOT NULL,
    name_key VARCHAR(32) NOT NULL,
    password_hash VARCHAR(256),
    role VARCHAR(16) NOT NULL CONSTRAINT ck_user_account_role CHECK (role IN ('author', 'organiser', 'admin')),
    created_at TIMESTAMPTZ NOT NULL,
    closed_at TIMESTAMPTZ,
    ban_reason VARCHAR(1000),
    CONSTRAINT uq_user_account_name_key UNIQUE (name_key)
);

CREATE TABLE rating_snapshot (
    id SERIAL NOT NULL CONSTRAINT pk_rating_snapshot PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_rating_snapshot_season_id REFERENCES season (id),
    log_sha256 VARCHAR(64) NOT NULL,
    config JSON NOT NULL,
    standings JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    final BOOLEAN DEFAULT false NOT NULL,
    whole BOOLEAN DEFAULT true NOT NULL,
    CONSTRAINT ck_rating_snapshot_whole CHECK (whole OR NOT final)
);

CREATE TABLE token (
    id SERIAL NOT NULL CONSTRAINT pk_token PRIMARY KEY,
    user_id INTEGER NOT NULL CONSTRAINT fk_token_user_id REFERENCES user_account (id),
    label VARCHAR(64) NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    revoked_at TIMESTAMPTZ,
    kind VARCHAR(16) DEFAULT 'token' NOT NULL CONSTRAINT ck_token_kind CHECK (kind IN ('token', 'session')),
    scope VARCHAR(16) DEFAULT 'full' NOT NULL
        CONSTRAINT ck_token_scope CHECK (scope IN ('read', 'submit', 'author', 'full')),
    last_used_at TIMESTAMPTZ,
    CONSTRAINT uq_token_sha256 UNIQUE (sha256)
);

CREATE TABLE judging_environment (
    fingerprint VARCHAR(64) NOT NULL CONSTRAINT pk_judging_environment PRIMARY KEY,
    image VARCHAR(256) NOT NULL,
    document JSON NOT NULL,
    worker VARCHAR(128) NOT NULL,
    described_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE announcement (
    id SERIAL NOT NULL CONSTRAINT pk_announcement PRIMARY KEY,
    season_id INTEGER CONSTRAINT fk_announcement_season_id REFERENCES season (id),
    title VARCHAR(120) NOT NULL,
    text TEXT NOT NULL,
    author VARCHAR(32) NOT NULL,
    at TIMESTAMPTZ NOT NULL
);

CREATE TABLE team (
    id SERIAL NOT NULL CONSTRAINT pk_team PRIMARY KEY,
    name VARCHAR(32) NOT NULL,
    name_key VARCHAR(32) NOT NULL,
    captain_id INTEGER NOT NULL CONSTRAINT fk_team_captain_id REFERENCES user_account (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_team_name_key UNIQUE (name_key)
);

CREATE TABLE bot (
    id SERIAL NOT NULL CONSTRAINT pk_bot PRIMARY KEY,
    owner_id INTEGER NOT NULL CONSTRAINT fk_bot_owner_id REFERENCES user_account (id),
    game VARCHAR(64) NOT NULL,
    name VARCHAR(32) NOT NULL,
    name_key VARCHAR(32) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    team_id INTEGER CONSTRAINT fk_bot_team_id REFERENCES team (id),
    plays_people BOOLEAN DEFAULT true NOT NULL,
    description TEXT DEFAULT '' NOT NULL,
    retired_at TIMESTAMPTZ,
    CONSTRAINT uq_bot_owner_id_game_name_key UNIQUE (owner_id, game, name_key)
);

CREATE TABLE bot_version (
    id SERIAL NOT NULL CONSTRAINT pk_bot_version PRIMARY KEY,
    bot_id INTEGER NOT NULL CONSTRAINT fk_bot_version_bot_id REFERENCES bot (id),
    number INTEGER NOT NULL,
    filename VARCHAR(128) NOT NULL,
    size_bytes INTEGER NOT NULL,
    source_sha256 VARCHAR(64) NOT NULL,
    language VARCHAR(32) NOT NULL,
    entry VARCHAR(256) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_bot_version_state CHECK (state IN ('uploaded', 'building', 'ready', 'broken')),
    attempt INTEGER NOT NULL CONSTRAINT ck_bot_version_attempt CHECK (attempt >= 0),
    worker VARCHAR(128),
    lease_until TIMESTAMPTZ,
    queued_at TIMESTAMPTZ NOT NULL,
    nudge_at TIMESTAMPTZ NOT NULL,
    built_at TIMESTAMPTZ,
    program_sha256 VARCHAR(64),
    reason TEXT NOT NULL,
    log TEXT NOT NULL,
    uploader_id INTEGER CONSTRAINT fk_bot_version_uploader_id REFERENCES user_account (id),
    trial_sha256 VARCHAR(64),
    CONSTRAINT ck_bot_version_lease CHECK ((state = 'building') = (lease_until IS NOT NULL)),
    CONSTRAINT ck_bot_version_program CHECK ((state = 'ready') = (program_sha256 IS NOT NULL)),
    CONSTRAINT uq_bot_version_bot_id_number UNIQUE (bot_id, number),
    CONSTRAINT uq_bot_version_id_bot_id UNIQUE (id, bot_id)
);

CREATE TABLE pair (
    season_id INTEGER NOT NULL CONSTRAINT fk_pair_season_id REFERENCES season (id),
    low_id INTEGER NOT NULL CONSTRAINT fk_pair_low_id REFERENCES bot_version (id),
    high_id INTEGER NOT NULL CONSTRAINT fk_pair_high_id REFERENCES bot_version (id),
    games INTEGER NOT NULL,
    lead INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_pair PRIMARY KEY (season_id, low_id, high_id),
    CONSTRAINT ck_pair_order CHECK (low_id < high_id)
);

CREATE TABLE absent_entry (
    season_id INTEGER NOT NULL CONSTRAINT fk_absent_entry_season_id REFERENCES season (id),
    bot_id INTEGER NOT NULL CONSTRAINT fk_absent_entry_bot_id REFERENCES bot (id),
    absence VARCHAR(16) NOT NULL
        CONSTRAINT ck_absent_entry_absence CHECK (absence IN ('withdrawn', 'disqualified')),
    reason TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_absent_entry PRIMARY KEY (season_id, bot_id)
);

CREATE TABLE team_member (
    team_id INTEGER NOT NULL CONSTRAINT fk_team_member_team_id REFERENCES team (id),
    user_id INTEGER NOT NULL CONSTRAINT fk_team_member_user_id REFERENCES user_account (id),
    invited_at TIMESTAMPTZ NOT NULL,
    joined_at TIMESTAMPTZ,
    CONSTRAINT pk_team_member PRIMARY KEY (team_id, user_id)
);

CREATE TABLE division (
    season_id INTEGER NOT NULL CONSTRAINT fk_division_season_id REFERENCES season (id),
    number INTEGER NOT NULL CONSTRAINT ck_division_number CHECK (number >= 1),
    name VARCHAR(32) NOT NULL,
    size INTEGER CONSTRAINT ck_division_size CHECK (size IS NULL OR size >= 2),
    CONSTRAINT pk_division PRIMARY KEY (season_id, number)
);

CREATE TABLE season_invitation (
    season_id INTEGER NOT NULL CONSTRAINT fk_season_invitation_season_id REFERENCES season (id),
    user_id INTEGER NOT NULL CONSTRAINT fk_season_invitation_user_id REFERENCES user_account (id),
    CONSTRAINT pk_season_invitation PRIMARY KEY (season_id, user_id)
);

CREATE TABLE entry (
    id SERIAL NOT NULL CONSTRAINT pk_entry PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_entry_season_id REFERENCES season (id),
    bot_id INTEGER NOT NULL CONSTRAINT fk_entry_bot_id REFERENCES bot (id),
    version_id INTEGER NOT NULL,
    follows BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    division INTEGER DEFAULT 1 NOT NULL,
    finals_seed INTEGER CONSTRAINT ck_entry_finals_seed CHECK (finals_seed >= 1),
    gate JSON,
    waiting_since INTEGER,
    chosen_at TIMESTAMPTZ,
    CONSTRAINT fk_entry_version_id_bot_id FOREIGN KEY(version_id, bot_id) REFERENCES bot_version (id, bot_id),
    CONSTRAINT uq_entry_season_id_bot_id UNIQUE (season_id, bot_id),
    CONSTRAINT uq_entry_season_id_division_finals_seed UNIQUE (season_id, division, finals_seed),
    CONSTRAINT fk_entry_season_id_division FOREIGN KEY(season_id, division) REFERENCES division (season_id, number)
);

CREATE TABLE challenge (
    id SERIAL NOT NULL CONSTRAINT pk_challenge PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_challenge_season_id REFERENCES season (id),
    entry_id INTEGER NOT NULL CONSTRAINT fk_challenge_entry_id REFERENCES entry (id),
    candidate_id INTEGER NOT NULL CONSTRAINT fk_challenge_candidate_id REFERENCES bot_version (id),
    incumbent_id INTEGER NOT NULL CONSTRAINT fk_challenge_incumbent_id REFERENCES bot_version (id),
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_challenge_state CHECK (state IN ('running', 'passed', 'failed', 'ended')),
    elo0 FLOAT NOT NULL,
    elo1 FLOAT NOT NULL,
    alpha FLOAT NOT NULL,
    beta FLOAT NOT NULL,
    games_limit INTEGER NOT NULL CONSTRAINT ck_challenge_games_limit CHECK (games_limit >= 1),
    games_planned INTEGER NOT NULL,
    wins INTEGER NOT NULL,
    draws INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    llr FLOAT NOT NULL,
    reason TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_challenge_versions CHECK (candidate_id <> incumbent_id),
    CONSTRAINT ck_challenge_ended CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT ck_challenge_elo CHECK (elo0 < elo1)
);

CREATE TABLE series (
    id SERIAL NOT NULL CONSTRAINT pk_series PRIMARY KEY,
    season_id INTEGER NOT NULL CONSTRAINT fk_series_season_id REFERENCES season (id),
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_series_state CHECK (state IN ('queued', 'running', 'done', 'abandoned')),
    attempt INTEGER NOT NULL CONSTRAINT ck_series_attempt CHECK (attempt >= 0),
    worker VARCHAR(128),
    lease_until TIMESTAMPTZ,
    queued_at TIMESTAMPTZ NOT NULL,
    nudge_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    purpose VARCHAR(16) DEFAULT 'ladder' NOT NULL
        CONSTRAINT ck_series_purpose CHECK (purpose IN ('ladder', 'finals', 'challenge')),
    round INTEGER,
    challenge_id INTEGER CONSTRAINT fk_series_challenge_id REFERENCES challenge (id),
    avoid_host VARCHAR(128),
    precedence INTEGER DEFAULT 2 NOT NULL,
    CONSTRAINT ck_series_lease CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CONSTRAINT ck_series_challenge CHECK ((purpose = 'challenge') = (challenge_id IS NOT NULL))
);

CREATE TABLE match (
    id SERIAL NOT NULL CONSTRAINT pk_match PRIMARY KEY,
    series_id INTEGER NOT NULL CONSTRAINT fk_match_series_id REFERENCES series (id),
    season_id INTEGER NOT NULL CONSTRAINT fk_match_season_id REFERENCES season (id),
    number INTEGER NOT NULL,
    seed BYTEA NOT NULL,
    commitment VARCHAR(64) NOT NULL,
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_match_state CHECK (state IN ('scheduled', 'done', 'held', 'decided', 'abandoned')),
    rated BOOLEAN NOT NULL,
    transcript_sha256 VARCHAR(64),
    created_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    attempt INTEGER DEFAULT 1 NOT NULL CONSTRAINT ck_match_attempt CHECK (attempt >= 1),
    repeats_id INTEGER CONSTRAINT fk_match_repeats_id_match REFERENCES match (id),
    deal INTEGER,
    CONSTRAINT ck_match_transcript CHECK ((state = 'done') = (transcript_sha256 IS NOT NULL)),
    CONSTRAINT ck_match_finished CHECK ((state IN ('scheduled', 'held')) = (finished_at IS NULL)),
    CONSTRAINT ck_match_rated CHECK (NOT rated OR state IN ('done', 'decided')),
    CONSTRAINT uq_match_series_id_number UNIQUE (series_id, number)
);

CREATE TABLE attempt (
    id SERIAL NOT NULL CONSTRAINT pk_attempt PRIMARY KEY,
    season_id INTEGER CONSTRAINT fk_attempt_season_id REFERENCES season (id),
    series_id INTEGER CONSTRAINT fk_attempt_series_id REFERENCES series (id),
    match_id INTEGER CONSTRAINT fk_attempt_match_id REFERENCES match (id),
    version_id INTEGER CONSTRAINT fk_attempt_version_id REFERENCES bot_version (id),
    attempt INTEGER NOT NULL,
    worker VARCHAR(128),
    cause VARCHAR(64) NOT NULL,
    detail TEXT NOT NULL,
    evidence JSON NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ NOT NULL,
    seed_number INTEGER,
    CONSTRAINT ck_attempt_subject CHECK ((series_id IS NULL) <> (version_id IS NULL)),
    CONSTRAINT ck_attempt_match CHECK (match_id IS NULL OR series_id IS NOT NULL)
);

CREATE TABLE participant (
    match_id INTEGER NOT NULL CONSTRAINT fk_participant_match_id REFERENCES match (id),
    seat INTEGER NOT NULL CONSTRAINT ck_participant_seat CHECK (seat >= 0),
    version_id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    rank INTEGER CONSTRAINT ck_participant_rank CHECK (rank >= 1),
    points VARCHAR(64),
    fault VARCHAR(16)
        CONSTRAINT ck_participant_fault CHECK (
            fault IN ('timeout', 'exited', 'overflow', 'malformed', 'illegal', 'unexpected', 'memory')
        ),
    fault_command VARCHAR(64),
    fault_elapsed_ms FLOAT,
    fault_why TEXT,
    finished_at TIMESTAMPTZ,
    CONSTRAINT pk_participant PRIMARY KEY (match_id, seat),
    CONSTRAINT fk_participant_version_id_bot_id FOREIGN KEY(version_id, bot_id) REFERENCES bot_version (id, bot_id),
    CONSTRAINT uq_participant_match_id_version_id UNIQUE (match_id, version_id)
);

CREATE TABLE ending (
    match_id INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    lingered BOOLEAN NOT NULL,
    stderr TEXT NOT NULL,
    cpu_ns BIGINT,
    peak_memory_bytes BIGINT,
    CONSTRAINT pk_ending PRIMARY KEY (match_id, seat),
    CONSTRAINT fk_ending_match_id_seat FOREIGN KEY(match_id, seat) REFERENCES participant (match_id, seat)
);

CREATE TABLE latency_summary (
    match_id INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    command VARCHAR(64) NOT NULL,
    limit_ns BIGINT NOT NULL,
    prompts INTEGER NOT NULL,
    total_ns BIGINT NOT NULL,
    worst_ns BIGINT NOT NULL,
    CONSTRAINT pk_latency_summary PRIMARY KEY (match_id, seat, command),
    CONSTRAINT fk_latency_summary_match_id_seat FOREIGN KEY(match_id, seat) REFERENCES participant (match_id, seat)
);

CREATE TABLE appeal (
    id SERIAL NOT NULL CONSTRAINT pk_appeal PRIMARY KEY,
    match_id INTEGER NOT NULL CONSTRAINT fk_appeal_match_id REFERENCES match (id),
    season_id INTEGER NOT NULL CONSTRAINT fk_appeal_season_id REFERENCES season (id),
    bot_id INTEGER NOT NULL CONSTRAINT fk_appeal_bot_id REFERENCES bot (id),
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_appeal_state CHECK (state IN ('open', 'upheld', 'rejected', 'withdrawn')),
    open_key VARCHAR(32),
    text TEXT NOT NULL,
    findings JSON NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    ruled_at TIMESTAMPTZ,
    ruled_by VARCHAR(32) NOT NULL,
    ruling TEXT NOT NULL,
    CONSTRAINT ck_appeal_open CHECK ((state = 'open') = (open_key IS NOT NULL)),
    CONSTRAINT ck_appeal_ruled CHECK ((state = 'open') = (ruled_at IS NULL)),
    CONSTRAINT uq_appeal_open_key UNIQUE (open_key)
);

CREATE TABLE voided_match (
    match_id INTEGER NOT NULL CONSTRAINT pk_voided_match PRIMARY KEY
        CONSTRAINT fk_voided_match_match_id REFERENCES match (id),
    season_id INTEGER NOT NULL CONSTRAINT fk_voided_match_season_id REFERENCES season (id),
    rejudged_id INTEGER CONSTRAINT fk_voided_match_rejudged_id REFERENCES match (id),
    reason TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_voided_match_rejudged_id UNIQUE (rejudged_id)
);

CREATE TABLE worker_host (
    name VARCHAR(128) NOT NULL CONSTRAINT pk_worker_host PRIMARY KEY,
    boot VARCHAR(64) NOT NULL,
    image VARCHAR(256) NOT NULL,
    fitness VARCHAR(16) NOT NULL CONSTRAINT ck_worker_host_fitness CHECK (fitness IN ('unchecked', 'fit', 'unfit')),
    since_at TIMESTAMPTZ NOT NULL,
    reasons JSON NOT NULL,
    report JSON NOT NULL,
    evidence JSON NOT NULL,
    first_seen_at TIMESTAMPTZ NOT NULL,
    last_seen_at TIMESTAMPTZ NOT NULL,
    unfit_at TIMESTAMPTZ,
    checked_at TIMESTAMPTZ,
    check_due_at TIMESTAMPTZ,
    canary_at TIMESTAMPTZ,
    steal_share FLOAT NOT NULL CONSTRAINT ck_worker_host_steal_share CHECK (steal_share BETWEEN 0 AND 1),
    series INTEGER NOT NULL,
    series_since_canary INTEGER NOT NULL,
    voids INTEGER NOT NULL,
    canaries INTEGER NOT NULL,
    canary_voids INTEGER NOT NULL,
    canary_failures INTEGER NOT NULL,
    CONSTRAINT ck_worker_host_checked CHECK (fitness = 'unchecked' OR checked_at IS NOT NULL)
);

CREATE TABLE response_times (
    season_id INTEGER NOT NULL CONSTRAINT fk_response_times_season_id REFERENCES season (id),
    version_id INTEGER NOT NULL CONSTRAINT fk_response_times_version_id REFERENCES bot_version (id),
    command VARCHAR(64) NOT NULL,
    limit_ns BIGINT NOT NULL,
    prompts BIGINT NOT NULL,
    total_ns BIGINT NOT NULL,
    worst_ns BIGINT NOT NULL,
    counts JSON NOT NULL,
    CONSTRAINT pk_response_times PRIMARY KEY (season_id, version_id, command)
);

CREATE TABLE rating_point (
    season_id INTEGER NOT NULL CONSTRAINT fk_rating_point_season_id REFERENCES season (id),
    second INTEGER NOT NULL,
    bot_id INTEGER NOT NULL CONSTRAINT fk_rating_point_bot_id REFERENCES bot (id),
    version_id INTEGER NOT NULL CONSTRAINT fk_rating_point_version_id REFERENCES bot_version (id),
    elo FLOAT NOT NULL,
    low FLOAT NOT NULL,
    high FLOAT NOT NULL,
    rank INTEGER NOT NULL,
    CONSTRAINT pk_rating_point PRIMARY KEY (season_id, second, bot_id)
);

CREATE TABLE live_match (
    series_id INTEGER NOT NULL CONSTRAINT pk_live_match PRIMARY KEY
        CONSTRAINT fk_live_match_series_id REFERENCES series (id),
    match_id INTEGER NOT NULL CONSTRAINT fk_live_match_match_id REFERENCES match (id),
    attempt INTEGER NOT NULL,
    replies TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL
);

CREATE TABLE season_rules (
    season_id INTEGER NOT NULL CONSTRAINT fk_season_rules_season_id REFERENCES season (id),
    rules_version INTEGER NOT NULL CONSTRAINT ck_season_rules_rules_version CHECK (rules_version >= 1),
    first_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_season_rules PRIMARY KEY (season_id, rules_version)
);

CREATE TABLE machine (
    id SERIAL NOT NULL CONSTRAINT pk_machine PRIMARY KEY,
    name VARCHAR(128) NOT NULL,
    CONSTRAINT uq_machine_name UNIQUE (name)
);

CREATE TABLE exhibition (
    id SERIAL NOT NULL CONSTRAINT pk_exhibition PRIMARY KEY,
    user_id INTEGER NOT NULL CONSTRAINT fk_exhibition_user_id REFERENCES user_account (id),
    version_id INTEGER NOT NULL CONSTRAINT fk_exhibition_version_id REFERENCES bot_version (id),
    game VARCHAR(64) NOT NULL,
    seats INTEGER NOT NULL CONSTRAINT ck_exhibition_seats CHECK (seats >= 2),
    seed BYTEA NOT NULL,
    commitment VARCHAR(64) NOT NULL,
    state VARCHAR(16) NOT NULL
        CONSTRAINT ck_exhibition_state CHECK (state IN ('queued', 'running', 'done', 'abandoned')),
    open_user_id INTEGER,
    open_place INTEGER,
    attempt INTEGER NOT NULL,
    worker VARCHAR(128),
    lease_until TIMESTAMPTZ,
    queued_at TIMESTAMPTZ NOT NULL,
    nudge_at TIMESTAMPTZ NOT NULL,
    replies TEXT NOT NULL,
    turn INTEGER NOT NULL,
    asked_at TIMESTAMPTZ,
    answer TEXT,
    resigned BOOLEAN NOT NULL,
    voids INTEGER NOT NULL,
    cause VARCHAR(64) NOT NULL,
    ranks JSON,
    points JSON,
    fault VARCHAR(16)
        CONSTRAINT ck_exhibition_fault CHECK (
            fault IN ('timeout', 'exited', 'overflow', 'malformed', 'illegal', 'unexpected', 'memory')
        ),
    transcript_sha256 VARCHAR(64),
    created_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    seat INTEGER DEFAULT 0 NOT NULL,
    failures INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT ck_exhibition_lease CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CONSTRAINT ck_exhibition_transcript CHECK ((state = 'done') = (transcript_sha256 IS NOT NULL)),
    CONSTRAINT ck_exhibition_seat CHECK (seat >= 0 AND seat < seats),
    CONSTRAINT ck_exhibition_open_place
        CHECK ((state IN ('queued', 'running') AND NOT resigned) = (open_place IS NOT NULL)),
    CONSTRAINT ck_exhibition_open_user
        CHECK ((state IN ('queued', 'running') AND NOT resigned) = (open_user_id IS NOT NULL)),
    CONSTRAINT uq_exhibition_open_user_id UNIQUE (open_user_id),
    CONSTRAINT uq_exhibition_open_place UNIQUE (open_place)
);

CREATE TABLE newcomers (
    id SERIAL NOT NULL CONSTRAINT pk_newcomers PRIMARY KEY
        CONSTRAINT ck_newcomers_one_row CHECK (id = 1),
    rule VARCHAR(16) NOT NULL CONSTRAINT ck_newcomers_newcomer_rule CHECK (rule IN ('open', 'code', 'closed')),
    code VARCHAR(64) NOT NULL
);

CREATE INDEX ix_audit_log_subject ON audit_log (subject);
CREATE INDEX ix_rating_snapshot_season_id_id ON rating_snapshot (season_id, id);
CREATE INDEX ix_rating_snapshot_whole ON rating_snapshot (season_id, id) WHERE whole;
CREATE UNIQUE INDEX uq_rating_snapshot_final ON rating_snapshot (season_id) WHERE final;
CREATE INDEX ix_token_user_id ON token (user_id);
CREATE INDEX ix_judging_environment_image_described_at ON judging_environment (image, described_at);
CREATE INDEX ix_announcement_season_id ON announcement (season_id);
CREATE UNIQUE INDEX ix_bot_team_id_game_name_key ON bot (team_id, game, name_key);
CREATE INDEX ix_bot_version_state_lease_until ON bot_version (state, lease_until);
CREATE INDEX ix_bot_version_state_nudge_at ON bot_version (state, nudge_at);
CREATE INDEX ix_bot_version_uploader_id_created_at ON bot_version (uploader_id, created_at);
CREATE INDEX ix_pair_season_id_high_id ON pair (season_id, high_id);
CREATE INDEX ix_team_member_user_id ON team_member (user_id);
CREATE INDEX ix_entry_bot_id ON entry (bot_id);
CREATE INDEX ix_challenge_entry_id_state ON challenge (entry_id, state);
CREATE INDEX ix_challenge_state ON challenge (state);
CREATE INDEX ix_series_challenge_id ON series (challenge_id);
CREATE INDEX ix_series_season_id_finished_at ON series (season_id, finished_at);
CREATE INDEX ix_series_season_id_state ON series (season_id, state);
CREATE INDEX ix_series_state_lease_until ON series (state, lease_until);
CREATE INDEX ix_series_state_nudge_at ON series (state, nudge_at);
CREATE INDEX ix_series_state_precedence_queued_at ON series (state, precedence, queued_at);
CREATE INDEX ix_match_commitment_scheduled ON match (commitment) WHERE state = 'scheduled';
CREATE INDEX ix_match_finished_at_id ON match (finished_at, id);
CREATE INDEX ix_match_held ON match (season_id) WHERE state = 'held';
CREATE INDEX ix_match_repeats_id ON match (repeats_id) WHERE repeats_id IS NOT NULL;
CREATE INDEX ix_match_season_id_finished_at_id ON match (season_id, finished_at, id);
CREATE INDEX ix_match_season_id_id ON match (season_id, id);
CREATE INDEX ix_match_season_id_state_id ON match (season_id, state, id);
CREATE INDEX ix_attempt_match_id ON attempt (match_id);
CREATE INDEX ix_attempt_season_id_cause ON attempt (season_id, cause);
CREATE INDEX ix_attempt_series_id ON attempt (series_id);
CREATE INDEX ix_attempt_version_id ON attempt (version_id);
CREATE INDEX ix_participant_bot_id_finished_at_match_id ON participant (bot_id, finished_at, match_id);
CREATE INDEX ix_participant_bot_id_match_id ON participant (bot_id, match_id);
CREATE INDEX ix_participant_faults ON participant (bot_id, match_id) WHERE fault IS NOT NULL;
CREATE INDEX ix_participant_version_id_match_id ON participant (version_id, match_id);
CREATE INDEX ix_appeal_bot_id ON appeal (bot_id);
CREATE INDEX ix_appeal_match_id ON appeal (match_id);
CREATE INDEX ix_appeal_season_id_state ON appeal (season_id, state);
CREATE INDEX ix_voided_match_season_id ON voided_match (season_id);
CREATE INDEX ix_rating_point_bot_id_season_id ON rating_point (bot_id, season_id);
CREATE INDEX ix_live_match_match_id ON live_match (match_id);
CREATE INDEX ix_exhibition_finished_at ON exhibition (finished_at);
CREATE INDEX ix_exhibition_state_nudge_at ON exhibition (state, nudge_at);
CREATE INDEX ix_exhibition_user_id_id ON exhibition (user_id, id);
CREATE INDEX ix_exhibition_version_id ON exhibition (version_id);
