/* Descriptors in messages are open without anybody having them; what they are is found out when others are closed. */
#include "player.h"
#include <sys/socket.h>

static void send_input(int socket) {
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec byte = {.iov_base = "x", .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    *(int *)CMSG_DATA(header) = socket;
    sendmsg(socket, &message, MSG_DONTWAIT);
}

static void circle(void) {
    for (int i = 0; i < 100; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
        for (int sent = 0; sent < 5; sent++)
            send_input(pair[sent % 2]);
        close(pair[0]);
        close(pair[1]);
    }
}

int main(void) {
    while (hear()) {
        circle();
        play();
    }
    return 0;
}
