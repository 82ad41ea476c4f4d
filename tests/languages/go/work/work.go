package work

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

func Work(line string) string {
	memory := make([]byte, 512<<20)
	for i := range memory {
		memory[i] = 1
	}
	var joined atomic.Int32
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			runtime.LockOSThread() // a thread of its own
			joined.Add(int32(memory[i]))
		}()
	}
	group.Wait()
	file, err := os.CreateTemp("", "line")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprint(file, line)
	copied, _ := os.ReadFile(file.Name())
	return fmt.Sprintf("%s %d %d", copied, len(memory)>>20, joined.Load())
}
