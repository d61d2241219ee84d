package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/actorswarm/swarm/tool"
)

const editSchema = `{"type":"object","additionalProperties":false,"required":["file_path","old_string","new_string"],"properties":{` +
	`"file_path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"old_string":{"type":"string","description":"The text to replace, exactly as in the file, without line numbers; empty to create a new file"},` +
	`"new_string":{"type":"string","description":"The text to put in its place"},` +
	`"replace_all":{"type":"boolean","description":"Replace every occurrence instead of the only one"}}}`

const editDescription = `Replaces an exact piece of text in a file that was read before.
old_string must occur exactly once, so give enough surrounding lines, or set replace_all. Indentation counts; line ends are kept as the file has them.`

const snippetLines = 4 // shown before and after a change

type editTool struct {
	at   place
	seen *views
}

type editInput struct {
	FilePath   string  `json:"file_path"`
	Old        *string `json:"old_string"`
	New        *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
}

func (*editTool) Spec() tool.Spec {
	return tool.Spec{Name: "Edit", Description: editDescription, Schema: json.RawMessage(editSchema)}
}

func (t *editTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in editInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	if in.Old == nil || in.New == nil {
		return tool.Errorf("Edit needs old_string and new_string; nothing was written"), nil
	}
	path, real, err := t.at.locate(c, in.FilePath)
	if err != nil {
		return failure(err), nil
	}
	e := edit{path: path, real: real, old: *in.Old, new: *in.New, all: in.ReplaceAll, seen: t.seen}
	if err := t.check(&e); err != nil {
		return failure(err), nil
	}
	if err := update(ctx, real, e.apply); err != nil {
		return failure(err), nil
	}
	e.remember()
	return tool.Result{Text: e.report(t.at.show(path))}, nil
}

// check refuses an edit for reasons that do not depend on the content.
func (t *editTool) check(e *edit) error {
	if e.old == e.new {
		return fmt.Errorf("old_string and new_string are the same; nothing was written")
	}
	if err := creatable(e.real); err != nil {
		return err
	}
	if _, err := os.Stat(e.real); err == nil {
		return nil
	}
	if e.old != "" {
		return fmt.Errorf("%s", t.at.missing(e.path))
	}
	return os.MkdirAll(filepath.Dir(e.real), 0o777)
}

// edit is one change of one file; apply may run several times.
type edit struct {
	path, real string
	old, new   string
	all        bool
	seen       *views

	fresh []byte // the content made by the last apply
	count int    // replacements in it
	at    int    // where the first one starts in fresh
	put   int    // length of what was put there
	stale bool   // the file had changed since it was read
}

func (e *edit) apply(old []byte, exists bool) ([]byte, error) {
	if e.old == "" {
		return e.create(old)
	}
	if !exists {
		return nil, fmt.Errorf("%s is gone; nothing was written", e.path)
	}
	v, known := e.seen.get(e.real)
	if !known {
		return nil, fmt.Errorf("%s was not read yet; Read it before editing. Nothing was written", e.path)
	}
	if bytes.IndexByte(old, 0) >= 0 || !utf8.Valid(old) {
		return nil, fmt.Errorf("%s is not UTF-8 text, so it cannot be edited safely; use Bash. Nothing was written", e.path)
	}
	e.stale = v.sum != digestOf(old)
	r := replace(string(old), e.old, e.new, e.all)
	if e.stale && (r.found != 1 || e.all) {
		return nil, &staleError{path: e.path, now: e.seen.conflict(e.real, old)}
	}
	if err := e.judge(r.found); err != nil {
		return nil, err
	}
	e.fresh, e.count, e.at, e.put = []byte(r.text), r.done, r.at, r.put
	return e.fresh, nil
}

func (e *edit) create(old []byte) ([]byte, error) {
	if len(old) > 0 {
		return nil, fmt.Errorf("%s exists and is not empty, so old_string must say what to replace. Nothing was written", e.path)
	}
	e.fresh, e.count, e.put = []byte(e.new), 1, len(e.new)
	return e.fresh, nil
}

func (e *edit) judge(found int) error {
	switch {
	case found == 0:
		return fmt.Errorf("old_string was not found in %s; it must match exactly, spaces and all, without the line numbers of Read. Nothing was written", e.path)
	case found > 1 && !e.all:
		return fmt.Errorf("old_string occurs %d times in %s; add surrounding lines to make it unique, or set replace_all. Nothing was written", found, e.path)
	}
	return nil
}

// remember records the new content as known, unless others had changed the file too: the
// agent has not seen their changes, so that a Write must still be refused.
func (e *edit) remember() {
	v, known := e.seen.get(e.real)
	switch {
	case !known:
		e.seen.wrote(e.real, e.fresh)
	case !e.stale && v.lines >= 0 && v.upTo >= v.lines:
		e.seen.wrote(e.real, e.fresh)
	case !e.stale:
		e.seen.put(e.real, view{sum: digestOf(e.fresh), lines: countLines(e.fresh), upTo: 0})
	}
}

func (e *edit) report(name string) string {
	before := strings.Count(string(e.fresh[:e.at]), "\n") + 1
	after := before + strings.Count(string(e.fresh[e.at:e.at+e.put]), "\n")
	shown := span{max(1, before-snippetLines), min(after, before+40) + snippetLines}
	what := "Changed"
	if e.count > 1 {
		what = fmt.Sprintf("Made %d replacements in", e.count)
	}
	note := ""
	if e.stale {
		note = " The file had also been changed by someone else since you read it; those changes were kept."
	}
	return fmt.Sprintf("%s %s.%s The first change with its surroundings:\n%s", what, name, note, numbered(e.fresh, shown))
}
