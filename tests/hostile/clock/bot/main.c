/* Sets clocks: its deadlines are measured by one. All times given are nonsense, so nobody's clock is changed. */
#include "probe.h"
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>

static long sets(clockid_t clock) {
    struct timespec nonsense = {.tv_sec = -1, .tv_nsec = -1};
    return syscall(SYS_clock_settime, clock, &nonsense);
}

static int wakes_the_machine(clockid_t clock) {
    int fd = timerfd_create(clock, TFD_CLOEXEC);
    if (fd < 0) return 0;
    close(fd);
    return 1;
}

static int alarms_the_machine(clockid_t clock) {
    timer_t timer;
    struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
    if (syscall(SYS_timer_create, clock, &nothing, &timer) != 0) return 0;
    timer_delete(timer);
    return 1;
}

static int shifts_its_times(void) {
    int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t written = write(fd, "monotonic 0 0\n", 14);
    int why = errno;
    close(fd);
    errno = why;
    return written > 0 || why == EACCES; /* the latter: allowed, but it has started programs in it already */
}

static void probe(void) {
    struct timeval nonsense = {.tv_sec = -1, .tv_usec = -1};
    struct timex question = {.modes = 0};
    DOOR("the time of day", syscall(SYS_settimeofday, &nonsense, NULL));
    DOOR("the time zone", syscall(SYS_settimeofday, NULL, (int[]){100000, 0}));
    DOOR("the real-time clock", sets(CLOCK_REALTIME));
    DOOR("the monotonic clock", sets(CLOCK_MONOTONIC));
    DOOR("the clock since booting", sets(CLOCK_BOOTTIME));
    DOOR("the atomic clock", sets(CLOCK_TAI));
    DOOR("its own CPU clock", sets(CLOCK_PROCESS_CPUTIME_ID));
    DOOR("the clock's pace", syscall(SYS_adjtimex, &question));
    DOOR("any clock's pace", syscall(SYS_clock_adjtime, CLOCK_REALTIME, &question));
    TRY("times of its own", shifts_its_times());
    TRY("an alarm that wakes the machine", wakes_the_machine(CLOCK_REALTIME_ALARM));
    TRY("a timer that wakes the machine", alarms_the_machine(CLOCK_BOOTTIME_ALARM));
    TRY("the clock on the board", opens("/dev/rtc", O_RDONLY) || opens("/dev/rtc0", O_RDONLY));
    TRY("the clock of the network", opens("/dev/ptp0", O_RDWR));
    TRY("the source of the time", opens("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_WRONLY));
}

PLAY(probe)
