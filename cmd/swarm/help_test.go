package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestHelpFitsIntoATerminal(t *testing.T) {
	var b bytes.Buffer
	root := newRoot(&app{out: &b, env: func(string) string { return "" }})
	root.SetOut(&b)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		b.Reset()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if widthOf(line) > plainWidth {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), widthOf(line), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "agents" { // its examples are longer than a line
				visit(sub)
			}
		}
	}
	visit(root)
}
