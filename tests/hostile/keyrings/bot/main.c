/* Looks for keys, makes some, and asks the kernel to have one made by a program of the host. Keys live in the kernel,
 * outlast a match, and their budget belongs to a user.
 */
#include "probe.h"
#include <linux/keyctl.h>

static long keyctl(long operation, long a, long b, long c) { return syscall(SYS_keyctl, operation, a, b, c, 0); }

static long add_key(const char *type, long keyring) {
    int has_content = strcmp(type, "keyring") != 0;
    return syscall(SYS_add_key, type, "of a bot", has_content ? "x" : NULL, (size_t)has_content, keyring);
}

static int joins_a_session(void) { return keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0) > 0; }

static void probe(void) {
    TRY("a key of the thread", add_key("user", KEY_SPEC_THREAD_KEYRING) > 0);
    TRY("a key of the process", add_key("user", KEY_SPEC_PROCESS_KEYRING) > 0);
    TRY("a ring of keys", add_key("keyring", KEY_SPEC_PROCESS_KEYRING) > 0);
    TRY("a big key", add_key("big_key", KEY_SPEC_PROCESS_KEYRING) > 0);
    TRY("a key for logging in", add_key("logon", KEY_SPEC_PROCESS_KEYRING) > 0 || errno == EINVAL);
    DOOR("a key that somebody else makes", syscall(SYS_request_key, "user", "no such key", NULL, 0));
    DOOR("its session's keys", keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0, 0));
    DOOR("its user's keys", keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0, 0));
    DOOR("its user's session's keys", keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_SESSION_KEYRING, 0, 0));
    DOOR("keys that stay", keyctl(KEYCTL_GET_PERSISTENT, -1, KEY_SPEC_PROCESS_KEYRING, 0));
    TRY("another session", in_child(joins_a_session));
    DOOR("another's key, described", keyctl(KEYCTL_DESCRIBE, 1, 0, 0));
    DOOR("another's key, read", keyctl(KEYCTL_READ, 1, 0, 0));
    DOOR("another's key, searched", keyctl(KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, (long)"user", (long)"x"));
    DOOR("another's key, revoked", keyctl(KEYCTL_REVOKE, -100, 0, 0));
    DOOR("another's key, watched", keyctl(KEYCTL_WATCH_KEY, -100, -1, 0));
    DOOR("what the kernel can do with keys", keyctl(KEYCTL_CAPABILITIES, 0, 0, 0));
}

PLAY(probe)
