/* Two thirds files with names of full length and links to them, the rest folders inside folders, closed to all. */
#include "player.h"

int main(void) {
    while (hear()) {
        if (is("READY")) {
            int made = 0;
            char name[256], link_name[256];
            chdir("/tmp");
            for (; made < 2700; made += 2) {
                snprintf(name, sizeof name, "%0255d", made);
                snprintf(link_name, sizeof link_name, "%0255d", made + 1);
                if (mknod(name, S_IFREG | 0000, 0) != 0 || link(name, link_name) != 0) break;
            }
            while (mkdir("folder", 0700) == 0 && chdir("folder") == 0) {
                chmod("..", 0100);
                made++;
            }
            dprintf(2, "%d entries: %s\n", made, strerror(errno));
            found("more or less than 4096 entries", made != 4095); /* and /tmp itself */
        }
        play();
    }
}
