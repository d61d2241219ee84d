package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/model"
	"github.com/spf13/cobra"
)

func newLogs(a *app) *cobra.Command {
	var of cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print an agent's conversation",
		Long: `Logs prints the transcript of an agent: what it was asked, what it said, which
tools it used and what they returned. The session may run or not. With --format
json it prints the lines of the transcript file as they are.`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one agent: swarm logs NAME")
			}
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			session, _, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer session.Close()
			s, err := session.Agent(c.Context(), args[0])
			if err != nil {
				return err
			}
			return logs(&a.Console, swarm.TranscriptPath(info, s), format == "json")
		},
	}
	of.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

// maxLine is the longest line of a transcript file that is read.
const maxLine = 64 << 20

func logs(con *cli.Console, path string, raw bool) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the agent has not worked yet: it has no transcript file")
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() && err == nil {
		text := lines.Text()
		if !raw {
			text = readable(lines.Bytes())
		}
		if text != "" {
			err = con.Print(text + "\n")
		}
	}
	return errors.Join(err, lines.Err(), f.Close())
}

// readable formats a line of a transcript file for people. It returns "" for lines
// without information for them.
func readable(raw []byte) string {
	var l struct {
		Type    string        `json:"type"`
		Message model.Message `json:"message"`
	}
	if err := json.Unmarshal(raw, &l); err != nil || l.Message.IsZero() {
		return ""
	}
	var text string
	for _, b := range l.Message.Blocks() {
		switch b.Type {
		case model.TypeText:
			text += fmt.Sprintf("%s: %s\n", l.Type, b.Text)
		case model.TypeToolUse:
			text += fmt.Sprintf("%s: %s %s\n", l.Type, b.Name, b.Input)
		case model.TypeToolResult:
			text += fmt.Sprintf("result: %s\n", b.Content)
		}
	}
	return strings.TrimRight(term.CleanLines(text), "\n")
}
