package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/model"
)

// input holds the fields of tool inputs that are shown.
type input struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	File    string `json:"file_path"`
	Command string `json:"command"`
	Name    string `json:"name"`
	Type    string `json:"subagent_type"`
	What    string `json:"description"`
	To      string `json:"to"`
	Task    string `json:"task_id"`
	Asked   []struct {
		Text string `json:"question"`
	} `json:"questions"`
}

// describeCall describes a tool call in a few words.
func describeCall(c model.Call, dir string) string {
	var in input
	if json.Unmarshal(c.Input, &in) != nil {
		return c.Name
	}
	subject := ""
	switch c.Name {
	case "Grep":
		subject = strconv.Quote(in.Pattern) + within(in.Path, dir)
	case "Glob":
		subject = in.Pattern + within(in.Path, dir)
	case "Read", "Write", "Edit":
		subject = RelativePath(in.File, dir)
	case "Bash":
		subject = FirstLine(in.Command)
	case "Agent", "Task":
		subject = cmp.Or(in.Name, in.Type, "general-purpose") + ": " + in.What
	case "SendMessage":
		subject = "to " + in.To
	case "TaskStop":
		subject = in.Task
	case "AskUserQuestion":
		for i, q := range in.Asked {
			if i > 0 {
				subject += " · "
			}
			subject += FirstLine(q.Text)
		}
	default:
		subject = compact(c.Input)
	}
	return strings.TrimSpace(c.Name + " " + subject)
}

func within(path, dir string) string {
	if path = RelativePath(path, dir); path == "" || path == "." {
		return ""
	}
	return " in " + path
}

// RelativePath makes a path below dir relative; it returns others unchanged.
func RelativePath(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "{}" {
		return ""
	}
	return b.String()
}

// describeResult describes the result of a tool call in a few words.
func describeResult(f event.CallFinished) string {
	text := strings.TrimSpace(f.Text)
	switch {
	case f.IsError:
		return "failed: " + FirstLine(text)
	case f.Call.Name == "Write", f.Call.Name == "Edit", f.Call.Name == "TaskStop":
		return "done" + longTime(f.Took)
	case text == "" || text == "(no output)":
		return "no output" + longTime(f.Took)
	}
	return Plural(strings.Count(text, "\n")+1, "line") + longTime(f.Took)
}

// longTime returns a duration that a person would notice, or "".
func longTime(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return ", " + duration(d)
}

func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// duration formats a duration in a short form: 0.4s, 12s, 3m20s, 5h, 2d.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", max(0, d).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// tokens formats the number of billed tokens.
func tokens(u model.Usage) string {
	return number(u.Total())
}

// number formats a large number as 950, 4.1k or 1.2M.
func number(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
