CREATE TABLE acts (
	id BIGSERIAL NOT NULL,
	kind VARCHAR(32) NOT NULL,
	number VARCHAR(64) NOT NULL,
	signed_on DATE NOT NULL,
	published_on DATE,
	note VARCHAR(500),
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_acts PRIMARY KEY (id),
	CONSTRAINT uq_acts_kind_number_signed_on UNIQUE (kind, number, signed_on),
	CONSTRAINT ck_acts_kind CHECK (kind IN ('LAW', 'DECREE', 'ORDER', 'RESOLUTION', 'COURT'))
);

CREATE TABLE annulments (
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	boarding_id UUID NOT NULL,
	digest BYTEA NOT NULL,
	received_at TIMESTAMP WITH TIME ZONE NOT NULL,
	batch BOOLEAN NOT NULL,
	occurred_at TIMESTAMP WITH TIME ZONE,
	holder VARCHAR(16),
	effects BYTEA,
	flags INTEGER NOT NULL,
	shard INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	commit_no BIGINT NOT NULL,
	CONSTRAINT pk_annulments PRIMARY KEY (device, epoch, seq)
);

CREATE INDEX ix_annulments_boarding_id ON annulments (boarding_id);

CREATE INDEX ix_annulments_holder ON annulments (holder);

CREATE INDEX ix_annulments_shard_generation_commit_no ON annulments (shard, generation, commit_no);

CREATE TABLE boardings (
	month VARCHAR(7) NOT NULL,
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	kind VARCHAR(24) NOT NULL,
	boarding_id UUID NOT NULL,
	digest BYTEA NOT NULL,
	received_at TIMESTAMP WITH TIME ZONE NOT NULL,
	batch BOOLEAN NOT NULL,
	occurred_at TIMESTAMP WITH TIME ZONE,
	dated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	line TEXT,
	vehicle TEXT,
	trip TEXT,
	medium VARCHAR(24),
	keyed VARCHAR(24),
	document TEXT,
	tendered_cents BIGINT,
	holder VARCHAR(16),
	card_number BIGINT,
	card_issue INTEGER,
	revision BIGINT,
	city_revision BIGINT,
	reason VARCHAR(24) NOT NULL,
	category VARCHAR(24),
	rule TEXT,
	rules TEXT,
	fare_cents BIGINT NOT NULL,
	rider_cents BIGINT NOT NULL,
	city_cents BIGINT NOT NULL,
	operator_cents BIGINT NOT NULL,
	change_cents BIGINT NOT NULL,
	turnstile VARCHAR(24),
	month_boardings BIGINT,
	passes BIGINT,
	effects BYTEA,
	continues UUID,
	flags INTEGER NOT NULL,
	shard INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	commit_no BIGINT NOT NULL,
	CONSTRAINT pk_boardings PRIMARY KEY (month, device, epoch, seq)
)
 PARTITION BY LIST (month);

CREATE INDEX ix_boardings_holder_month ON boardings (holder, month);

CREATE INDEX ix_boardings_shard_generation_commit_no ON boardings (shard, generation, commit_no);

CREATE INDEX ix_boardings_undated ON boardings (received_at) WHERE (flags & 16) <> 0;

CREATE TABLE city (
	id INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	published_revision INTEGER NOT NULL,
	law_version VARCHAR(64),
	CONSTRAINT pk_city PRIMARY KEY (id),
	CONSTRAINT ck_city_one_row CHECK (id = 1)
);

CREATE TABLE city_keys (
	key_id INTEGER NOT NULL,
	public_key BYTEA NOT NULL,
	valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
	valid_until TIMESTAMP WITH TIME ZONE,
	compromised_at TIMESTAMP WITH TIME ZONE,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_city_keys PRIMARY KEY (key_id),
	CONSTRAINT ck_city_keys_key_id CHECK (key_id BETWEEN 1 AND 65535),
	CONSTRAINT ck_city_keys_public_key_length CHECK (length(public_key) = 32)
);

CREATE TABLE device_epochs (
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	durable_seq BIGINT NOT NULL,
	top_seq BIGINT NOT NULL,
	covered_seq BIGINT NOT NULL,
	chain_head BYTEA,
	broken BOOLEAN NOT NULL,
	closed BOOLEAN NOT NULL,
	CONSTRAINT pk_device_epochs PRIMARY KEY (device, epoch)
);

CREATE TABLE forks (
	id BIGSERIAL NOT NULL,
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	digest BYTEA NOT NULL,
	kind VARCHAR(24) NOT NULL,
	boarding_id UUID,
	received_at TIMESTAMP WITH TIME ZONE NOT NULL,
	raw BYTEA NOT NULL,
	note TEXT NOT NULL,
	holder VARCHAR(16),
	effects BYTEA,
	shard INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	commit_no BIGINT NOT NULL,
	CONSTRAINT pk_forks PRIMARY KEY (id),
	CONSTRAINT uq_forks_device_epoch_seq_digest UNIQUE (device, epoch, seq, digest)
);

CREATE TABLE holders (
	id BIGSERIAL NOT NULL,
	hot_id VARCHAR(16) NOT NULL,
	revision INTEGER NOT NULL,
	published_revision INTEGER NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_holders PRIMARY KEY (id),
	CONSTRAINT ck_holders_hot_id_length CHECK (length(hot_id) = 16),
	CONSTRAINT ck_holders_revision CHECK (revision >= 1),
	CONSTRAINT uq_holders_hot_id UNIQUE (hot_id)
);

CREATE TABLE month_closings (
	id BIGSERIAL NOT NULL,
	month VARCHAR(7) NOT NULL,
	part INTEGER NOT NULL,
	closed_at TIMESTAMP WITH TIME ZONE NOT NULL,
	closed_by VARCHAR(64) NOT NULL,
	rules_version VARCHAR(64) NOT NULL,
	fares_sha256 VARCHAR(64) NOT NULL,
	CONSTRAINT pk_month_closings PRIMARY KEY (id),
	CONSTRAINT uq_month_closings_month_part UNIQUE (month, part),
	CONSTRAINT ck_month_closings_part CHECK (part >= 1)
);

CREATE TABLE operators (
	id BIGSERIAL NOT NULL,
	code VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	kind VARCHAR(32) NOT NULL,
	document VARCHAR(14),
	first_day DATE,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_operators PRIMARY KEY (id),
	CONSTRAINT ck_operators_document_length CHECK (length(document) IN (11, 14)),
	CONSTRAINT uq_operators_code UNIQUE (code),
	CONSTRAINT ck_operators_kind CHECK (kind IN ('COMPANY', 'PERSON')),
	CONSTRAINT uq_operators_document UNIQUE (document)
);

CREATE TABLE outbox (
	id BIGSERIAL NOT NULL,
	kind VARCHAR(32) NOT NULL,
	ref VARCHAR(32) NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	published_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_outbox PRIMARY KEY (id),
	CONSTRAINT ck_outbox_kind CHECK (kind IN ('HOLDER', 'DEVICE', 'CITY'))
);

CREATE INDEX ix_outbox_waiting ON outbox (id) WHERE published_at IS NULL;

CREATE TABLE rejected (
	id BIGSERIAL NOT NULL,
	kind VARCHAR(24) NOT NULL,
	device TEXT,
	epoch BIGINT,
	seq BIGINT,
	boarding_id UUID,
	digest BYTEA,
	received_at TIMESTAMP WITH TIME ZONE,
	raw BYTEA,
	note TEXT NOT NULL,
	holder VARCHAR(16),
	effects BYTEA,
	flags INTEGER NOT NULL,
	shard INTEGER,
	stream_id VARCHAR(48),
	generation INTEGER,
	commit_no BIGINT,
	CONSTRAINT pk_rejected PRIMARY KEY (id)
);

CREATE INDEX ix_rejected_device_epoch_seq ON rejected (device, epoch, seq);

CREATE TABLE releases (
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	boarding_id UUID NOT NULL,
	digest BYTEA NOT NULL,
	received_at TIMESTAMP WITH TIME ZONE NOT NULL,
	released BOOLEAN NOT NULL,
	ride_class VARCHAR(24),
	purse TEXT,
	list_version BIGINT,
	online BOOLEAN,
	holder VARCHAR(16),
	effects BYTEA,
	flags INTEGER NOT NULL,
	shard INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	commit_no BIGINT NOT NULL,
	CONSTRAINT pk_releases PRIMARY KEY (device, epoch, seq)
);

CREATE INDEX ix_releases_boarding_id ON releases (boarding_id);

CREATE INDEX ix_releases_holder ON releases (holder);

CREATE INDEX ix_releases_shard_generation_commit_no ON releases (shard, generation, commit_no);

CREATE TABLE schools (
	id BIGSERIAL NOT NULL,
	name VARCHAR(200) NOT NULL,
	network VARCHAR(32) NOT NULL,
	inep VARCHAR(8),
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_schools PRIMARY KEY (id),
	CONSTRAINT ck_schools_inep_length CHECK (length(inep) = 8),
	CONSTRAINT ck_schools_network CHECK (network IN ('PUBLIC_MUNICIPAL', 'PUBLIC_STATE', 'PUBLIC_FEDERAL', 'PRIVATE', 'SPECIAL')),
	CONSTRAINT uq_schools_inep UNIQUE (inep)
);

CREATE TABLE shards (
	number INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	commit_no BIGINT NOT NULL,
	stream_id VARCHAR(48) NOT NULL,
	CONSTRAINT pk_shards PRIMARY KEY (number)
);

CREATE TABLE signed_heads (
	id BIGSERIAL NOT NULL,
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	head BYTEA NOT NULL,
	signature BYTEA NOT NULL,
	closing BOOLEAN NOT NULL,
	received_at TIMESTAMP WITH TIME ZONE NOT NULL,
	verdict VARCHAR(24) NOT NULL,
	CONSTRAINT pk_signed_heads PRIMARY KEY (id),
	CONSTRAINT uq_signed_heads_device_epoch_seq_head_closing_signature UNIQUE (device, epoch, seq, head, closing, signature)
);

CREATE TABLE tap_keys (
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	kind VARCHAR(24) NOT NULL,
	digest BYTEA,
	boarding_id UUID,
	month VARCHAR(7),
	CONSTRAINT pk_tap_keys PRIMARY KEY (device, epoch, seq),
	CONSTRAINT uq_tap_keys_boarding_id UNIQUE (boarding_id)
);

CREATE TABLE vehicles (
	number VARCHAR(64) NOT NULL,
	plate VARCHAR(8),
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_vehicles PRIMARY KEY (number)
);

CREATE TABLE cards (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	number BIGINT NOT NULL,
	kind VARCHAR(32) NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_cards PRIMARY KEY (id),
	CONSTRAINT ck_cards_number CHECK (number BETWEEN 1 AND 281474976710655),
	CONSTRAINT fk_cards_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT uq_cards_number UNIQUE (number),
	CONSTRAINT ck_cards_kind CHECK (kind IN ('QR', 'CHIP'))
);

CREATE INDEX ix_cards_holder_id ON cards (holder_id);

CREATE TABLE claims (
	id BIGSERIAL NOT NULL,
	closing_id BIGINT NOT NULL,
	operator VARCHAR(32) NOT NULL,
	year INTEGER NOT NULL,
	number INTEGER NOT NULL,
	month VARCHAR(7) NOT NULL,
	kind VARCHAR(32) NOT NULL,
	lines_cents BIGINT NOT NULL,
	adjustments_cents BIGINT NOT NULL,
	total_cents BIGINT NOT NULL,
	annex_sha256 VARCHAR(64) NOT NULL,
	document TEXT NOT NULL,
	CONSTRAINT pk_claims PRIMARY KEY (id),
	CONSTRAINT uq_claims_operator_year_number UNIQUE (operator, year, number),
	CONSTRAINT uq_claims_closing_id_operator UNIQUE (closing_id, operator),
	CONSTRAINT ck_claims_number CHECK (number >= 1),
	CONSTRAINT ck_claims_lines_not_negative CHECK (lines_cents >= 0),
	CONSTRAINT ck_claims_total CHECK (lines_cents + adjustments_cents = total_cents),
	CONSTRAINT fk_claims_closing_id_month_closings FOREIGN KEY(closing_id) REFERENCES month_closings (id) ON DELETE RESTRICT,
	CONSTRAINT fk_claims_operator_operators FOREIGN KEY(operator) REFERENCES operators (code) ON DELETE RESTRICT,
	CONSTRAINT ck_claims_kind CHECK (kind IN ('MAIN', 'COMPLEMENTARY'))
);

CREATE TABLE devices (
	id VARCHAR(32) NOT NULL,
	operator_id BIGINT NOT NULL,
	revision INTEGER NOT NULL,
	published_revision INTEGER NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_devices PRIMARY KEY (id),
	CONSTRAINT fk_devices_operator_id_operators FOREIGN KEY(operator_id) REFERENCES operators (id) ON DELETE RESTRICT
);

CREATE INDEX ix_devices_operator_id ON devices (operator_id);

CREATE TABLE holder_end_states (
	holder VARCHAR(16) NOT NULL,
	closing_id BIGINT NOT NULL,
	usage BYTEA NOT NULL,
	CONSTRAINT pk_holder_end_states PRIMARY KEY (holder, closing_id),
	CONSTRAINT fk_holder_end_states_closing_id_month_closings FOREIGN KEY(closing_id) REFERENCES month_closings (id) ON DELETE RESTRICT
);

CREATE TABLE lines (
	id BIGSERIAL NOT NULL,
	code VARCHAR(64) NOT NULL,
	name VARCHAR(200) NOT NULL,
	network VARCHAR(32) NOT NULL,
	first_day DATE,
	last_day DATE,
	act_id BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_lines PRIMARY KEY (id),
	CONSTRAINT ck_lines_days_in_order CHECK (last_day >= first_day),
	CONSTRAINT uq_lines_code UNIQUE (code),
	CONSTRAINT ck_lines_network CHECK (network IN ('URBAN', 'INTERIOR')),
	CONSTRAINT fk_lines_act_id_acts FOREIGN KEY(act_id) REFERENCES acts (id) ON DELETE RESTRICT
);

CREATE TABLE operator_endings (
	id BIGSERIAL NOT NULL,
	operator_id BIGINT NOT NULL,
	ended_on DATE NOT NULL,
	act_id BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_operator_endings PRIMARY KEY (id),
	CONSTRAINT fk_operator_endings_operator_id_operators FOREIGN KEY(operator_id) REFERENCES operators (id) ON DELETE RESTRICT,
	CONSTRAINT fk_operator_endings_act_id_acts FOREIGN KEY(act_id) REFERENCES acts (id) ON DELETE RESTRICT
);

CREATE INDEX ix_operator_endings_operator_id ON operator_endings (operator_id);

CREATE TABLE persons (
	holder_id BIGINT NOT NULL,
	name VARCHAR(200) NOT NULL,
	search_name VARCHAR(400) NOT NULL,
	cpf VARCHAR(11),
	guardian_id BIGINT,
	guardian_name VARCHAR(200),
	guardian_cpf VARCHAR(11),
	address VARCHAR(300),
	phone VARCHAR(40),
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_persons PRIMARY KEY (holder_id),
	CONSTRAINT ck_persons_cpf_length CHECK (length(cpf) = 11),
	CONSTRAINT ck_persons_guardian_cpf_length CHECK (length(guardian_cpf) = 11),
	CONSTRAINT ck_persons_not_own_guardian CHECK (guardian_id <> holder_id),
	CONSTRAINT fk_persons_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT uq_persons_cpf UNIQUE (cpf),
	CONSTRAINT fk_persons_guardian_id_holders FOREIGN KEY(guardian_id) REFERENCES holders (id) ON DELETE RESTRICT
);

CREATE INDEX ix_persons_guardian_cpf ON persons (guardian_cpf);

CREATE INDEX ix_persons_guardian_id ON persons (guardian_id);

CREATE INDEX ix_persons_search_name ON persons (search_name);

CREATE TABLE rated_boardings (
	boarding_id UUID NOT NULL,
	closing_id BIGINT NOT NULL,
	month VARCHAR(7) NOT NULL,
	holder VARCHAR(16),
	operator VARCHAR(32) NOT NULL,
	device TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	dated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	line TEXT,
	vehicle TEXT,
	verdict VARCHAR(32) NOT NULL,
	reason VARCHAR(32),
	category VARCHAR(32),
	ride_class VARCHAR(32),
	rule VARCHAR(64),
	turnstile VARCHAR(32) NOT NULL,
	fare_cents BIGINT NOT NULL,
	rider_cents BIGINT NOT NULL,
	city_cents BIGINT NOT NULL,
	operator_cents BIGINT NOT NULL,
	purse VARCHAR(24),
	pass_number BIGINT,
	counts_cap BOOLEAN NOT NULL,
	personal BOOLEAN NOT NULL,
	took BOOLEAN NOT NULL,
	waits BOOLEAN NOT NULL,
	CONSTRAINT pk_rated_boardings PRIMARY KEY (boarding_id, closing_id),
	CONSTRAINT ck_rated_boardings_parts CHECK (rider_cents + city_cents + operator_cents = fare_cents),
	CONSTRAINT ck_rated_boardings_not_negative CHECK (rider_cents >= 0 AND city_cents >= 0 AND operator_cents >= 0),
	CONSTRAINT ck_rated_boardings_billed_has_amount CHECK ((verdict = 'billable') = (city_cents > 0)),
	CONSTRAINT ck_rated_boardings_excluded_has_reason CHECK ((verdict = 'excluded') = (reason IS NOT NULL)),
	CONSTRAINT ck_rated_boardings_billed_has_rule CHECK (verdict <> 'billable' OR rule IS NOT NULL),
	CONSTRAINT ck_rated_boardings_pass_is_numbered CHECK ((purse IS NULL) = (pass_number IS NULL)),
	CONSTRAINT fk_rated_boardings_closing_id_month_closings FOREIGN KEY(closing_id) REFERENCES month_closings (id) ON DELETE RESTRICT,
	CONSTRAINT ck_rated_boardings_verdict CHECK (verdict IN ('billable', 'statistical', 'excluded')),
	CONSTRAINT ck_rated_boardings_reason CHECK (reason IN ('DUPLICATE', 'ANNULLED', 'CLOCK_INVALID', 'DEVICE_REVOKED', 'TOKEN_INVALID', 'CARD_UNKNOWN', 'CARD_REPLACED', 'CARD_BLOCKED', 'CATEGORY_NOT_KEYABLE', 'RIGHT_NOT_STARTED', 'RIGHT_ENDED', 'RIGHT_SUSPENDED', 'NO_RIGHT', 'NOT_VALID_ON_LINE', 'OVER_CAP', 'NO_PASSES', 'PASSBACK', 'INSUFFICIENT_TENDER', 'CHANGE_ABOVE_LIMIT', 'LINE_UNSETTLED', 'LINE_UNKNOWN', 'VEHICLE_UNSETTLED', 'NO_RELEASE', 'NOT_COVERED')),
	CONSTRAINT ck_rated_boardings_category CHECK (category IN ('CHILD', 'ELDER', 'FISCAL_MUN', 'FISCAL_TRANSP', 'FISCAL_TRAB', 'OFICIAL_JUST', 'SPECIAL_ED', 'TEACHER', 'STUDENT_50', 'PREPAID', 'VT', 'FULL')),
	CONSTRAINT ck_rated_boardings_ride_class CHECK (ride_class IN ('FREE', 'HALF', 'PURSE', 'FULL')),
	CONSTRAINT ck_rated_boardings_turnstile CHECK (turnstile IN ('TURN', 'HOLD', 'NOT_TURNED'))
);

CREATE INDEX ix_rated_boardings_closing_id_operator_verdict ON rated_boardings (closing_id, operator, verdict);

CREATE INDEX ix_rated_boardings_holder_month ON rated_boardings (holder, month);

CREATE TABLE school_years (
	id BIGSERIAL NOT NULL,
	school_id BIGINT NOT NULL,
	year INTEGER NOT NULL,
	school_days INTEGER NOT NULL,
	authorised_extra INTEGER NOT NULL,
	act_id BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_school_years PRIMARY KEY (id),
	CONSTRAINT ck_school_years_year CHECK (year BETWEEN 1991 AND 2200),
	CONSTRAINT ck_school_years_school_days CHECK (school_days BETWEEN 1 AND 366),
	CONSTRAINT ck_school_years_authorised_extra CHECK (authorised_extra >= 0),
	CONSTRAINT ck_school_years_extra_needs_act CHECK (authorised_extra = 0 OR act_id IS NOT NULL),
	CONSTRAINT fk_school_years_school_id_schools FOREIGN KEY(school_id) REFERENCES schools (id) ON DELETE RESTRICT,
	CONSTRAINT fk_school_years_act_id_acts FOREIGN KEY(act_id) REFERENCES acts (id) ON DELETE RESTRICT
);

CREATE INDEX ix_school_years_school_id_year ON school_years (school_id, year);

CREATE TABLE users (
	id BIGSERIAL NOT NULL,
	login VARCHAR(64) NOT NULL,
	name VARCHAR(200) NOT NULL,
	role VARCHAR(32) NOT NULL,
	operator_id BIGINT,
	desk VARCHAR(64),
	school_id BIGINT,
	holder_id BIGINT,
	token_sha256 VARCHAR(64) NOT NULL,
	valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
	valid_until TIMESTAMP WITH TIME ZONE,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_users PRIMARY KEY (id),
	CONSTRAINT ck_users_operator_scope CHECK (role <> 'OPERATOR_FINANCE' OR operator_id IS NOT NULL),
	CONSTRAINT ck_users_desk_scope CHECK (role NOT IN ('DESK_CLERK', 'DESK_MANAGER') OR desk IS NOT NULL),
	CONSTRAINT uq_users_login UNIQUE (login),
	CONSTRAINT ck_users_role CHECK (role IN ('DESK_CLERK', 'DESK_MANAGER', 'SCHOOL', 'OPERATOR_FINANCE', 'CITY', 'AUDITOR', 'ADMINISTRATOR')),
	CONSTRAINT fk_users_operator_id_operators FOREIGN KEY(operator_id) REFERENCES operators (id) ON DELETE RESTRICT,
	CONSTRAINT fk_users_school_id_schools FOREIGN KEY(school_id) REFERENCES schools (id) ON DELETE RESTRICT,
	CONSTRAINT fk_users_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT uq_users_token_sha256 UNIQUE (token_sha256)
);

CREATE TABLE vehicle_operators (
	id BIGSERIAL NOT NULL,
	vehicle VARCHAR(64) NOT NULL,
	operator_id BIGINT,
	from_day DATE NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_vehicle_operators PRIMARY KEY (id),
	CONSTRAINT fk_vehicle_operators_vehicle_vehicles FOREIGN KEY(vehicle) REFERENCES vehicles (number) ON DELETE RESTRICT,
	CONSTRAINT fk_vehicle_operators_operator_id_operators FOREIGN KEY(operator_id) REFERENCES operators (id) ON DELETE RESTRICT
);

CREATE INDEX ix_vehicle_operators_vehicle_from_day ON vehicle_operators (vehicle, from_day);

CREATE TABLE audit_log (
	id BIGSERIAL NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	user_id BIGINT,
	action VARCHAR(64) NOT NULL,
	subject_kind VARCHAR(32) NOT NULL,
	subject_id VARCHAR(64) NOT NULL,
	detail VARCHAR(500),
	CONSTRAINT pk_audit_log PRIMARY KEY (id),
	CONSTRAINT fk_audit_log_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_audit_log_at ON audit_log (at);

CREATE INDEX ix_audit_log_subject_kind_subject_id_at ON audit_log (subject_kind, subject_id, at);

CREATE INDEX ix_audit_log_user_id ON audit_log (user_id);

CREATE TABLE breakdowns (
	id BIGSERIAL NOT NULL,
	vehicle VARCHAR(64) NOT NULL,
	from_at TIMESTAMP WITH TIME ZONE NOT NULL,
	declared_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_breakdowns PRIMARY KEY (id),
	CONSTRAINT fk_breakdowns_vehicle_vehicles FOREIGN KEY(vehicle) REFERENCES vehicles (number) ON DELETE RESTRICT,
	CONSTRAINT fk_breakdowns_declared_by_users FOREIGN KEY(declared_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_breakdowns_vehicle ON breakdowns (vehicle);

CREATE TABLE card_issues (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	card_id BIGINT NOT NULL,
	issue INTEGER NOT NULL,
	key_id INTEGER NOT NULL,
	token_sha256 VARCHAR(64) NOT NULL,
	token_hash8 BYTEA NOT NULL,
	issued_by BIGINT,
	issued_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_card_issues PRIMARY KEY (id),
	CONSTRAINT uq_card_issues_card_id_issue UNIQUE (card_id, issue),
	CONSTRAINT ck_card_issues_issue CHECK (issue BETWEEN 1 AND 255),
	CONSTRAINT fk_card_issues_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_card_issues_card_id_cards FOREIGN KEY(card_id) REFERENCES cards (id) ON DELETE RESTRICT,
	CONSTRAINT fk_card_issues_key_id_city_keys FOREIGN KEY(key_id) REFERENCES city_keys (key_id) ON DELETE RESTRICT,
	CONSTRAINT uq_card_issues_token_sha256 UNIQUE (token_sha256),
	CONSTRAINT fk_card_issues_issued_by_users FOREIGN KEY(issued_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_card_issues_holder_id_revision ON card_issues (holder_id, revision);

CREATE TABLE card_states (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	card_id BIGINT NOT NULL,
	issue INTEGER NOT NULL,
	state VARCHAR(32) NOT NULL,
	reason VARCHAR(300) NOT NULL,
	recorded_by BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_card_states PRIMARY KEY (id),
	CONSTRAINT fk_card_states_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_card_states_card_id_cards FOREIGN KEY(card_id) REFERENCES cards (id) ON DELETE RESTRICT,
	CONSTRAINT ck_card_states_state CHECK (state IN ('LIVE', 'BLOCKED', 'REPLACED')),
	CONSTRAINT fk_card_states_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_card_states_card_id_issue_revision ON card_states (card_id, issue, revision);

CREATE INDEX ix_card_states_holder_id_revision ON card_states (holder_id, revision);

CREATE TABLE card_uids (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	card_id BIGINT NOT NULL,
	issue INTEGER NOT NULL,
	uid VARCHAR(20) NOT NULL,
	turn INTEGER NOT NULL,
	state VARCHAR(32) NOT NULL,
	reason VARCHAR(300),
	recorded_by BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_card_uids PRIMARY KEY (id),
	CONSTRAINT uq_card_uids_uid_turn UNIQUE (uid, turn),
	CONSTRAINT ck_card_uids_uid CHECK (length(uid) IN (8, 14, 20)),
	CONSTRAINT ck_card_uids_turn CHECK (turn >= 1),
	CONSTRAINT fk_card_uids_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_card_uids_card_id_cards FOREIGN KEY(card_id) REFERENCES cards (id) ON DELETE RESTRICT,
	CONSTRAINT ck_card_uids_state CHECK (state IN ('BOUND', 'UNBOUND')),
	CONSTRAINT fk_card_uids_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_card_uids_holder_id_revision ON card_uids (holder_id, revision);

CREATE TABLE claim_entries (
	id BIGSERIAL NOT NULL,
	claim_id BIGINT NOT NULL,
	boarding_id UUID NOT NULL,
	kind VARCHAR(32) NOT NULL,
	cents BIGINT NOT NULL,
	reason VARCHAR(200),
	CONSTRAINT pk_claim_entries PRIMARY KEY (id),
	CONSTRAINT ck_claim_entries_bill_is_positive CHECK (kind <> 'BILL' OR cents > 0),
	CONSTRAINT ck_claim_entries_taken_back_is_negative CHECK (kind NOT IN ('REVERSAL', 'CUT') OR cents < 0),
	CONSTRAINT ck_claim_entries_correction_has_reason CHECK (kind = 'BILL' OR reason IS NOT NULL),
	CONSTRAINT fk_claim_entries_claim_id_claims FOREIGN KEY(claim_id) REFERENCES claims (id) ON DELETE RESTRICT,
	CONSTRAINT ck_claim_entries_kind CHECK (kind IN ('BILL', 'REVERSAL', 'CUT', 'DELTA'))
);

CREATE INDEX ix_claim_entries_claim_id ON claim_entries (claim_id);

CREATE UNIQUE INDEX uq_claim_entries_billed_once ON claim_entries (boarding_id) WHERE kind = 'BILL';

CREATE UNIQUE INDEX uq_claim_entries_reversed_once ON claim_entries (boarding_id) WHERE kind = 'REVERSAL';

CREATE TABLE claim_lines (
	claim_id BIGINT NOT NULL,
	position INTEGER NOT NULL,
	category VARCHAR(32) NOT NULL,
	rule VARCHAR(64) NOT NULL,
	line TEXT NOT NULL,
	fare_cents BIGINT NOT NULL,
	rider_cents BIGINT NOT NULL,
	city_cents BIGINT NOT NULL,
	operator_cents BIGINT NOT NULL,
	quantity INTEGER NOT NULL,
	total_cents BIGINT NOT NULL,
	CONSTRAINT pk_claim_lines PRIMARY KEY (claim_id, position),
	CONSTRAINT ck_claim_lines_quantity CHECK (quantity >= 1),
	CONSTRAINT ck_claim_lines_not_negative CHECK (rider_cents >= 0 AND city_cents > 0 AND operator_cents >= 0),
	CONSTRAINT ck_claim_lines_parts CHECK (rider_cents + city_cents + operator_cents = fare_cents),
	CONSTRAINT ck_claim_lines_total CHECK (total_cents = quantity * city_cents),
	CONSTRAINT fk_claim_lines_claim_id_claims FOREIGN KEY(claim_id) REFERENCES claims (id) ON DELETE RESTRICT,
	CONSTRAINT ck_claim_lines_category CHECK (category IN ('CHILD', 'ELDER', 'FISCAL_MUN', 'FISCAL_TRANSP', 'FISCAL_TRAB', 'OFICIAL_JUST', 'SPECIAL_ED', 'TEACHER', 'STUDENT_50', 'PREPAID', 'VT', 'FULL'))
);

CREATE TABLE claim_states (
	id BIGSERIAL NOT NULL,
	claim_id BIGINT NOT NULL,
	state VARCHAR(32) NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	by VARCHAR(64) NOT NULL,
	note VARCHAR(300),
	CONSTRAINT pk_claim_states PRIMARY KEY (id),
	CONSTRAINT fk_claim_states_claim_id_claims FOREIGN KEY(claim_id) REFERENCES claims (id) ON DELETE RESTRICT,
	CONSTRAINT ck_claim_states_state CHECK (state IN ('DRAFT', 'CLOSED', 'SENT', 'ATTESTED', 'CUT', 'PAID'))
);

CREATE INDEX ix_claim_states_claim_id ON claim_states (claim_id);

CREATE TABLE datings (
	id BIGSERIAL NOT NULL,
	boarding_id UUID NOT NULL,
	month VARCHAR(7) NOT NULL,
	device VARCHAR(64) NOT NULL,
	epoch BIGINT NOT NULL,
	seq BIGINT NOT NULL,
	dated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	month_dated VARCHAR(7) NOT NULL,
	evidence VARCHAR(500) NOT NULL,
	dated_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	replaces_id BIGINT,
	CONSTRAINT pk_datings PRIMARY KEY (id),
	CONSTRAINT fk_datings_dated_by_users FOREIGN KEY(dated_by) REFERENCES users (id) ON DELETE RESTRICT,
	CONSTRAINT uq_datings_replaces_id UNIQUE (replaces_id),
	CONSTRAINT fk_datings_replaces_id_datings FOREIGN KEY(replaces_id) REFERENCES datings (id) ON DELETE RESTRICT
);

CREATE INDEX ix_datings_boarding_id ON datings (boarding_id);

CREATE INDEX ix_datings_month_dated ON datings (month_dated);

CREATE INDEX ix_datings_month_device_epoch_seq ON datings (month, device, epoch, seq);

CREATE TABLE device_assignments (
	id BIGSERIAL NOT NULL,
	device_id VARCHAR(32) NOT NULL,
	vehicle VARCHAR(64),
	from_at TIMESTAMP WITH TIME ZONE NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_device_assignments PRIMARY KEY (id),
	CONSTRAINT fk_device_assignments_device_id_devices FOREIGN KEY(device_id) REFERENCES devices (id) ON DELETE RESTRICT,
	CONSTRAINT fk_device_assignments_vehicle_vehicles FOREIGN KEY(vehicle) REFERENCES vehicles (number) ON DELETE RESTRICT
);

CREATE INDEX ix_device_assignments_device_id_from_at ON device_assignments (device_id, from_at);

CREATE TABLE device_codes (
	id BIGSERIAL NOT NULL,
	code_sha256 VARCHAR(64) NOT NULL,
	device_id VARCHAR(32) NOT NULL,
	operator_id BIGINT NOT NULL,
	vehicle VARCHAR(64),
	issued_by BIGINT NOT NULL,
	issued_at TIMESTAMP WITH TIME ZONE NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_device_codes PRIMARY KEY (id),
	CONSTRAINT ck_device_codes_instants_in_order CHECK (expires_at > issued_at),
	CONSTRAINT uq_device_codes_code_sha256 UNIQUE (code_sha256),
	CONSTRAINT fk_device_codes_operator_id_operators FOREIGN KEY(operator_id) REFERENCES operators (id) ON DELETE RESTRICT,
	CONSTRAINT fk_device_codes_vehicle_vehicles FOREIGN KEY(vehicle) REFERENCES vehicles (number) ON DELETE RESTRICT,
	CONSTRAINT fk_device_codes_issued_by_users FOREIGN KEY(issued_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_device_codes_device_id ON device_codes (device_id);

CREATE TABLE device_keys (
	device_id VARCHAR(32) NOT NULL,
	epoch INTEGER NOT NULL,
	token_sha256 VARCHAR(64) NOT NULL,
	public_key BYTEA NOT NULL,
	valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_device_keys PRIMARY KEY (device_id, epoch),
	CONSTRAINT ck_device_keys_epoch CHECK (epoch >= 1),
	CONSTRAINT ck_device_keys_public_key_length CHECK (length(public_key) = 32),
	CONSTRAINT fk_device_keys_device_id_devices FOREIGN KEY(device_id) REFERENCES devices (id) ON DELETE RESTRICT,
	CONSTRAINT uq_device_keys_token_sha256 UNIQUE (token_sha256)
);

CREATE TABLE device_revocations (
	id BIGSERIAL NOT NULL,
	device_id VARCHAR(32) NOT NULL,
	epoch INTEGER NOT NULL,
	revoked_at TIMESTAMP WITH TIME ZONE NOT NULL,
	reason VARCHAR(300) NOT NULL,
	recorded_by BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_device_revocations PRIMARY KEY (id),
	CONSTRAINT fk_device_revocations_device_id_devices FOREIGN KEY(device_id) REFERENCES devices (id) ON DELETE RESTRICT,
	CONSTRAINT fk_device_revocations_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_device_revocations_device_id ON device_revocations (device_id);

CREATE TABLE enrolments (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	school_id BIGINT NOT NULL,
	first_day DATE NOT NULL,
	last_day DATE NOT NULL,
	passes_per_day INTEGER NOT NULL,
	address_seen_on DATE,
	identity_seen_on DATE,
	shift VARCHAR(40),
	recorded_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_enrolments PRIMARY KEY (id),
	CONSTRAINT ck_enrolments_days_in_order CHECK (last_day >= first_day),
	CONSTRAINT ck_enrolments_passes_per_day CHECK (passes_per_day BETWEEN 0 AND 8),
	CONSTRAINT fk_enrolments_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_enrolments_school_id_schools FOREIGN KEY(school_id) REFERENCES schools (id) ON DELETE RESTRICT,
	CONSTRAINT fk_enrolments_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_enrolments_holder_id_first_day ON enrolments (holder_id, first_day);

CREATE TABLE fares (
	id BIGSERIAL NOT NULL,
	network VARCHAR(32) NOT NULL,
	line VARCHAR(64),
	medium VARCHAR(32),
	first_day DATE NOT NULL,
	last_day DATE,
	cents INTEGER NOT NULL,
	act_id BIGINT NOT NULL,
	corrects_id BIGINT,
	recorded_by BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_fares PRIMARY KEY (id),
	CONSTRAINT ck_fares_not_negative CHECK (cents >= 0),
	CONSTRAINT ck_fares_days_in_order CHECK (last_day >= first_day),
	CONSTRAINT ck_fares_network CHECK (network IN ('URBAN', 'INTERIOR')),
	CONSTRAINT fk_fares_line_lines FOREIGN KEY(line) REFERENCES lines (code) ON DELETE RESTRICT,
	CONSTRAINT ck_fares_medium CHECK (medium IN ('CARD', 'CASH')),
	CONSTRAINT fk_fares_act_id_acts FOREIGN KEY(act_id) REFERENCES acts (id) ON DELETE RESTRICT,
	CONSTRAINT uq_fares_corrects_id UNIQUE (corrects_id),
	CONSTRAINT fk_fares_corrects_id_fares FOREIGN KEY(corrects_id) REFERENCES fares (id) ON DELETE RESTRICT,
	CONSTRAINT fk_fares_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_fares_network_first_day ON fares (network, first_day);

CREATE INDEX ix_fares_recorded_at ON fares (recorded_at);

CREATE TABLE line_operators (
	id BIGSERIAL NOT NULL,
	line_id BIGINT NOT NULL,
	operator_id BIGINT NOT NULL,
	from_day DATE NOT NULL,
	runs BOOLEAN NOT NULL,
	act_id BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_line_operators PRIMARY KEY (id),
	CONSTRAINT fk_line_operators_line_id_lines FOREIGN KEY(line_id) REFERENCES lines (id) ON DELETE RESTRICT,
	CONSTRAINT fk_line_operators_operator_id_operators FOREIGN KEY(operator_id) REFERENCES operators (id) ON DELETE RESTRICT,
	CONSTRAINT fk_line_operators_act_id_acts FOREIGN KEY(act_id) REFERENCES acts (id) ON DELETE RESTRICT
);

CREATE INDEX ix_line_operators_line_id_operator_id_from_day ON line_operators (line_id, operator_id, from_day);

CREATE TABLE lives (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	birth_date DATE,
	died_on DATE,
	recorded_by BIGINT,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_lives PRIMARY KEY (id),
	CONSTRAINT ck_lives_days_in_order CHECK (died_on >= birth_date),
	CONSTRAINT fk_lives_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_lives_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_lives_holder_id_revision ON lives (holder_id, revision);

CREATE TABLE right_requests (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	category VARCHAR(32) NOT NULL,
	first_day DATE NOT NULL,
	ended_on DATE,
	school_id BIGINT,
	note VARCHAR(300),
	registered_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_right_requests PRIMARY KEY (id),
	CONSTRAINT fk_right_requests_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT ck_right_requests_category CHECK (category IN ('CHILD', 'ELDER', 'FISCAL_MUN', 'FISCAL_TRANSP', 'FISCAL_TRAB', 'OFICIAL_JUST', 'SPECIAL_ED', 'TEACHER', 'STUDENT_50', 'PREPAID', 'VT', 'FULL')),
	CONSTRAINT fk_right_requests_school_id_schools FOREIGN KEY(school_id) REFERENCES schools (id) ON DELETE RESTRICT,
	CONSTRAINT fk_right_requests_registered_by_users FOREIGN KEY(registered_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_right_requests_holder_id ON right_requests (holder_id);

CREATE TABLE trips (
	id BIGSERIAL NOT NULL,
	line_id BIGINT NOT NULL,
	code VARCHAR(64) NOT NULL,
	headsign VARCHAR(200),
	direction INTEGER,
	departs_s INTEGER,
	arrives_s INTEGER,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_trips PRIMARY KEY (id),
	CONSTRAINT uq_trips_line_id_code UNIQUE (line_id, code),
	CONSTRAINT fk_trips_line_id_lines FOREIGN KEY(line_id) REFERENCES lines (id) ON DELETE RESTRICT
);

CREATE TABLE device_code_uses (
	code_id BIGINT NOT NULL,
	epoch INTEGER NOT NULL,
	public_key BYTEA NOT NULL,
	key_id INTEGER NOT NULL,
	used_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_device_code_uses PRIMARY KEY (code_id),
	CONSTRAINT ck_device_code_uses_public_key_length CHECK (length(public_key) = 32),
	CONSTRAINT fk_device_code_uses_code_id_device_codes FOREIGN KEY(code_id) REFERENCES device_codes (id) ON DELETE RESTRICT,
	CONSTRAINT fk_device_code_uses_key_id_city_keys FOREIGN KEY(key_id) REFERENCES city_keys (key_id) ON DELETE RESTRICT
);

CREATE TABLE repairs (
	breakdown_id BIGINT NOT NULL,
	until_at TIMESTAMP WITH TIME ZONE NOT NULL,
	declared_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_repairs PRIMARY KEY (breakdown_id),
	CONSTRAINT fk_repairs_breakdown_id_breakdowns FOREIGN KEY(breakdown_id) REFERENCES breakdowns (id) ON DELETE RESTRICT,
	CONSTRAINT fk_repairs_declared_by_users FOREIGN KEY(declared_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE TABLE right_decisions (
	request_id BIGINT NOT NULL,
	decision VARCHAR(32) NOT NULL,
	decided_by BIGINT NOT NULL,
	note VARCHAR(300),
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_right_decisions PRIMARY KEY (request_id),
	CONSTRAINT ck_right_decisions_denial_needs_note CHECK (decision <> 'DENIED' OR note IS NOT NULL),
	CONSTRAINT fk_right_decisions_request_id_right_requests FOREIGN KEY(request_id) REFERENCES right_requests (id) ON DELETE RESTRICT,
	CONSTRAINT ck_right_decisions_decision CHECK (decision IN ('APPROVED', 'DENIED')),
	CONSTRAINT fk_right_decisions_decided_by_users FOREIGN KEY(decided_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE TABLE right_evidence (
	request_id BIGINT NOT NULL,
	kind VARCHAR(32) NOT NULL,
	seen_on DATE NOT NULL,
	CONSTRAINT pk_right_evidence PRIMARY KEY (request_id, kind),
	CONSTRAINT fk_right_evidence_request_id_right_requests FOREIGN KEY(request_id) REFERENCES right_requests (id) ON DELETE RESTRICT,
	CONSTRAINT ck_right_evidence_kind CHECK (kind IN ('IDENTITY', 'ADDRESS', 'ENROLMENT', 'NEED', 'CREDENTIAL', 'APPOINTMENT', 'EMPLOYER'))
);

CREATE TABLE rights (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	request_id BIGINT NOT NULL,
	category VARCHAR(32) NOT NULL,
	first_day DATE NOT NULL,
	ended_on DATE,
	school_id BIGINT,
	registered_by BIGINT NOT NULL,
	approved_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_rights PRIMARY KEY (id),
	CONSTRAINT ck_rights_second_person CHECK (registered_by <> approved_by),
	CONSTRAINT ck_rights_days_in_order CHECK (ended_on > first_day),
	CONSTRAINT ck_rights_category_is_registered CHECK (category NOT IN ('CHILD', 'ELDER', 'PREPAID', 'VT', 'FULL')),
	CONSTRAINT fk_rights_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT uq_rights_request_id UNIQUE (request_id),
	CONSTRAINT fk_rights_request_id_right_requests FOREIGN KEY(request_id) REFERENCES right_requests (id) ON DELETE RESTRICT,
	CONSTRAINT ck_rights_category CHECK (category IN ('CHILD', 'ELDER', 'FISCAL_MUN', 'FISCAL_TRANSP', 'FISCAL_TRAB', 'OFICIAL_JUST', 'SPECIAL_ED', 'TEACHER', 'STUDENT_50', 'PREPAID', 'VT', 'FULL')),
	CONSTRAINT fk_rights_school_id_schools FOREIGN KEY(school_id) REFERENCES schools (id) ON DELETE RESTRICT,
	CONSTRAINT fk_rights_registered_by_users FOREIGN KEY(registered_by) REFERENCES users (id) ON DELETE RESTRICT,
	CONSTRAINT fk_rights_approved_by_users FOREIGN KEY(approved_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_rights_holder_id_revision ON rights (holder_id, revision);

CREATE TABLE sales (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	product VARCHAR(32) NOT NULL,
	network VARCHAR(32) NOT NULL,
	units INTEGER NOT NULL,
	face_cents INTEGER NOT NULL,
	paid_cents INTEGER NOT NULL,
	plan VARCHAR(32),
	window_first DATE,
	window_until DATE,
	enrolment_id BIGINT,
	fare_id BIGINT NOT NULL,
	sold_on DATE NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	desk VARCHAR(64) NOT NULL,
	sold_by BIGINT NOT NULL,
	request_id VARCHAR(64),
	revision INTEGER NOT NULL,
	CONSTRAINT pk_sales PRIMARY KEY (id),
	CONSTRAINT ck_sales_units CHECK (units >= 1),
	CONSTRAINT ck_sales_face CHECK (face_cents > 0),
	CONSTRAINT ck_sales_price CHECK (paid_cents = CASE WHEN product = 'STUDENT' THEN face_cents / 2 ELSE face_cents END),
	CONSTRAINT ck_sales_students_ride_urban CHECK (product <> 'STUDENT' OR network = 'URBAN'),
	CONSTRAINT ck_sales_students_are_enrolled CHECK (product <> 'STUDENT' OR enrolment_id IS NOT NULL),
	CONSTRAINT fk_sales_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT ck_sales_product CHECK (product IN ('STUDENT', 'PREPAID', 'VT')),
	CONSTRAINT ck_sales_network CHECK (network IN ('URBAN', 'INTERIOR')),
	CONSTRAINT ck_sales_plan CHECK (plan IN ('MONTH', 'TWO_MONTHS')),
	CONSTRAINT fk_sales_enrolment_id_enrolments FOREIGN KEY(enrolment_id) REFERENCES enrolments (id) ON DELETE RESTRICT,
	CONSTRAINT fk_sales_fare_id_fares FOREIGN KEY(fare_id) REFERENCES fares (id) ON DELETE RESTRICT,
	CONSTRAINT fk_sales_sold_by_users FOREIGN KEY(sold_by) REFERENCES users (id) ON DELETE RESTRICT,
	CONSTRAINT uq_sales_request_id UNIQUE (request_id)
);

CREATE INDEX ix_sales_holder_id_product_sold_on ON sales (holder_id, product, sold_on);

CREATE INDEX ix_sales_holder_id_revision ON sales (holder_id, revision);

CREATE INDEX ix_sales_sold_on ON sales (sold_on);

CREATE TABLE right_endings (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	right_id BIGINT NOT NULL,
	ended_on DATE NOT NULL,
	reason VARCHAR(300) NOT NULL,
	recorded_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_right_endings PRIMARY KEY (id),
	CONSTRAINT fk_right_endings_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_right_endings_right_id_rights FOREIGN KEY(right_id) REFERENCES rights (id) ON DELETE RESTRICT,
	CONSTRAINT fk_right_endings_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_right_endings_holder_id_revision ON right_endings (holder_id, revision);

CREATE INDEX ix_right_endings_right_id ON right_endings (right_id);

CREATE TABLE right_suspensions (
	id BIGSERIAL NOT NULL,
	holder_id BIGINT NOT NULL,
	right_id BIGINT NOT NULL,
	first_day DATE NOT NULL,
	until DATE,
	replaces_id BIGINT,
	reason VARCHAR(300) NOT NULL,
	recorded_by BIGINT NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
	revision INTEGER NOT NULL,
	CONSTRAINT pk_right_suspensions PRIMARY KEY (id),
	CONSTRAINT ck_right_suspensions_days_in_order CHECK (until >= first_day),
	CONSTRAINT fk_right_suspensions_holder_id_holders FOREIGN KEY(holder_id) REFERENCES holders (id) ON DELETE RESTRICT,
	CONSTRAINT fk_right_suspensions_right_id_rights FOREIGN KEY(right_id) REFERENCES rights (id) ON DELETE RESTRICT,
	CONSTRAINT uq_right_suspensions_replaces_id UNIQUE (replaces_id),
	CONSTRAINT fk_right_suspensions_replaces_id_right_suspensions FOREIGN KEY(replaces_id) REFERENCES right_suspensions (id) ON DELETE RESTRICT,
	CONSTRAINT fk_right_suspensions_recorded_by_users FOREIGN KEY(recorded_by) REFERENCES users (id) ON DELETE RESTRICT
);

CREATE INDEX ix_right_suspensions_holder_id_revision ON right_suspensions (holder_id, revision);

CREATE INDEX ix_right_suspensions_right_id ON right_suspensions (right_id);

CREATE TABLE IF NOT EXISTS boardings_default PARTITION OF boardings DEFAULT;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING
		MESSAGE = 'rows of ' || TG_TABLE_NAME || ' are never changed', ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER acts_append_only BEFORE UPDATE OR DELETE ON acts
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER breakdowns_append_only BEFORE UPDATE OR DELETE ON breakdowns
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER card_issues_append_only BEFORE UPDATE OR DELETE ON card_issues
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER card_states_append_only BEFORE UPDATE OR DELETE ON card_states
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER card_uids_append_only BEFORE UPDATE OR DELETE ON card_uids
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER cards_append_only BEFORE UPDATE OR DELETE ON cards
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER claim_entries_append_only BEFORE UPDATE OR DELETE ON claim_entries
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER claim_lines_append_only BEFORE UPDATE OR DELETE ON claim_lines
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER claim_states_append_only BEFORE UPDATE OR DELETE ON claim_states
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER claims_append_only BEFORE UPDATE OR DELETE ON claims
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER datings_append_only BEFORE UPDATE OR DELETE ON datings
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER device_code_uses_append_only BEFORE UPDATE OR DELETE ON device_code_uses
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER device_codes_append_only BEFORE UPDATE OR DELETE ON device_codes
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER device_keys_append_only BEFORE UPDATE OR DELETE ON device_keys
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER device_revocations_append_only BEFORE UPDATE OR DELETE ON device_revocations
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER enrolments_append_only BEFORE UPDATE OR DELETE ON enrolments
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER fares_append_only BEFORE UPDATE OR DELETE ON fares
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER holder_end_states_append_only BEFORE UPDATE OR DELETE ON holder_end_states
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER line_operators_append_only BEFORE UPDATE OR DELETE ON line_operators
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER lives_append_only BEFORE UPDATE OR DELETE ON lives
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER month_closings_append_only BEFORE UPDATE OR DELETE ON month_closings
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER operator_endings_append_only BEFORE UPDATE OR DELETE ON operator_endings
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER rated_boardings_append_only BEFORE UPDATE OR DELETE ON rated_boardings
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER repairs_append_only BEFORE UPDATE OR DELETE ON repairs
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER right_decisions_append_only BEFORE UPDATE OR DELETE ON right_decisions
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER right_endings_append_only BEFORE UPDATE OR DELETE ON right_endings
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER right_evidence_append_only BEFORE UPDATE OR DELETE ON right_evidence
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER right_requests_append_only BEFORE UPDATE OR DELETE ON right_requests
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER right_suspensions_append_only BEFORE UPDATE OR DELETE ON right_suspensions
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER rights_append_only BEFORE UPDATE OR DELETE ON rights
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER sales_append_only BEFORE UPDATE OR DELETE ON sales
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER school_years_append_only BEFORE UPDATE OR DELETE ON school_years
FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER vehicle_operators_append_only BEFORE UPDATE OR DELETE ON vehicle_operators
FOR EACH ROW EXECUTE FUNCTION refuse_change();

