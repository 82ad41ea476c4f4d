/* Pipes and sockets, each holding others in its queue; the player itself keeps a spare place for nothing. */
#include "player.h"
#include <sys/socket.h>

static void send_descriptor(int over, int fd) {
    char byte = 0, room[CMSG_SPACE(sizeof fd)];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    sendmsg(over, &message, MSG_DONTWAIT);
}

int main(void) {
    while (hear()) {
        if (is("READY")) {
            int player = 1;
            for (int children = 0; player && children < 50; children++)
                player = fork();
            for (int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;) {
                send_descriptor(pair[0], pair[1]); /* each waits in its own queue: only the kernel's collector frees it */
                send_descriptor(pair[1], pair[0]);
            }
            for (int pair[2]; pipe(pair) == 0;) {}
            while (dup(0) >= 0) {}
            while (!player)
                pause();
        }
        play();
    }
}
