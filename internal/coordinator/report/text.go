package report

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/actorswarm/swarm/model"
)

// Cut shortens text to at most n bytes at a rune boundary.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// OneLine joins the lines of text, and collapses spaces.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Detail encodes v, which is always plain data.
func Detail(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// page returns the part of a text that begins at a byte and fits in a message.
func page(text string, offset int) string {
	offset = min(max(offset, 0), len(text))
	for offset < len(text) && offset > 0 && text[offset]&0xC0 == 0x80 {
		offset++
	}
	return Cut(text[offset:], MaxBytes)
}

// CallSummary describes a call in one line.
func CallSummary(c model.Call) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(c.Input, &in) != nil {
		return c.Name
	}
	for _, key := range []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "prompt"} {
		var text string
		if json.Unmarshal(in[key], &text) == nil && text != "" {
			return c.Name + " " + Cut(OneLine(text), 200)
		}
	}
	var flat bytes.Buffer
	if json.Compact(&flat, c.Input) != nil || flat.String() == "{}" {
		return c.Name
	}
	return c.Name + " " + Cut(flat.String(), 200)
}
