-- Creates the league's roles and gives everything in its database to the owner. Run it with psql as a superuser, in that
-- database, before `deadheat migrate`; again does no harm. `deadheat migrate` gives the other two what they need.
\set ON_ERROR_STOP on
SELECT format('CREATE ROLE %I', name) FROM unnest(ARRAY['deadheat_owner', 'deadheat_service', 'deadheat_worker']) AS name
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE deadheat_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
ALTER ROLE deadheat_service LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
ALTER ROLE deadheat_worker LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
SELECT format('ALTER DATABASE %I OWNER TO deadheat_owner', current_database()) \gexec
ALTER SCHEMA public OWNER TO deadheat_owner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()) \gexec
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
SELECT format('ALTER TABLE public.%I OWNER TO deadheat_owner', relname) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' \gexec
SELECT format('ALTER FUNCTION public.%I() OWNER TO deadheat_owner', proname) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND proname LIKE '%\_refuse' \gexec
