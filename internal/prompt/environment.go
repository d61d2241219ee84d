package prompt

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Environment describes where an agent works. Empty fields are left out.
type Environment struct {
	Dir      string
	Platform string // for instance linux/amd64
	Shell    string // path of the user's shell
	Model    string
	Date     time.Time // of the agent's start
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
	if !e.Date.IsZero() {
		line("Date: %s", e.Date.Format(time.DateOnly))
	}
	line("You are: %s", e.Who)
	return strings.Join(lines, "\n")
}
