package main

import (
	"bufio"
	"fmt"
	"os"
	"worker/work"
)

func main() {
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() && input.Text() != "FINISH" {
		fmt.Println(work.Work(input.Text()))
	}
}
