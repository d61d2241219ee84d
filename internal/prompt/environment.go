package prompt

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Environment is where an agent works. Fields without a value are left out.
type Environment struct {
	Dir      string
	Platform string // such as linux/amd64
	Shell    string // the path of the user's shell
	Model    string
	Born     time.Time // the agent's; the date it is told
	Who      string
}

// String returns one line for each field.
func (e Environment) String() string {
	var lines []string
	line := func(format, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf(format, value))
		}
	}
	line("Working directory: %s", e.Dir)
	line("Platform: %s", e.Platform)
	if e.Shell != "" {
		line("Shell: %s", filepath.Base(e.Shell))
	}
	line("Model: %s", e.Model)
	if !e.Born.IsZero() {
		line("Date: %s", e.Born.Format(time.DateOnly))
	}
	line("You are: %s", e.Who)
	return strings.Join(lines, "\n")
}
