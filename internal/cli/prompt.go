package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/term"
)

// maxInput is the maximum size of standard input, in bytes.
const maxInput = 10 << 20

// inputHintDelay is how long standard input may be silent before the user is informed that
// the program waits for it.
const inputHintDelay = 3 * time.Second

// Prompt joins the prompts in the arguments and in standard input. It is empty if there
// is neither.
func (c *Console) Prompt(args []string) (string, error) {
	text := strings.TrimSpace(strings.Join(args, " "))
	more, err := c.ReadInput()
	if err != nil {
		return "", err
	}
	switch {
	case text == "":
		return more, nil
	case more == "":
		return text, nil
	}
	return text + "\n\n" + more, nil
}

// ReadInput returns all of standard input if that is a pipe or a file.
func (c *Console) ReadInput() (string, error) {
	if !piped(c.In) {
		return "", nil
	}
	hint := time.AfterFunc(inputHintDelay, func() {
		c.Notef("swarm: still reading the prompt from standard input; end it, or start swarm with </dev/null")
	})
	defer hint.Stop()
	raw, err := io.ReadAll(io.LimitReader(c.In, maxInput+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(raw) > maxInput:
		return "", Usagef("standard input holds more than %d MB; write it to a file and name the file in the prompt", maxInput>>20)
	}
	return strings.TrimSpace(string(raw)), nil
}

// piped reports whether in is a pipe or a file, and not a terminal or device.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// maxAsked is how often Confirm asks a person who answers neither yes nor no.
const maxAsked = 3

// Confirm asks a person on the terminal. Without one there is nobody to ask. An answer that
// is neither yes nor no is asked for again; in the end it counts as a no.
func (c *Console) Confirm(question string) (bool, error) {
	if _, terminal := term.Columns(c.In); !terminal {
		return false, Usagef("there is no terminal to ask on; to go ahead without being asked, add --yes")
	}
	return c.confirm(question)
}

func (c *Console) confirm(question string) (bool, error) {
	lines := bufio.NewReader(c.In)
	question = term.Clean(question) + " [y/N] "
	for range maxAsked {
		if err := Fprint(c.Err, question); err != nil {
			return false, err
		}
		answer, err := lines.ReadString('\n')
		if err != nil && answer == "" {
			return false, nil // the terminal was closed: no answer is a no
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "", "n", "no":
			return false, nil
		}
		question = "answer y or n: [y/N] "
	}
	c.Notef("that was neither yes nor no %d times, and counts as no", maxAsked)
	return false, nil
}
