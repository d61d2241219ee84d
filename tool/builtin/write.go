package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/tool"
)

const writeSchema = `{"type":"object","additionalProperties":false,"required":["file_path","content"],"properties":{` +
	`"file_path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"content":{"type":"string","description":"The whole new content"}}}`

const writeDescription = `Writes a whole file, creating it and its folders if needed.
An existing file must have been read completely before, and not have changed since; to change a part of a file use Edit.`

type writeTool struct {
	at   place
	seen *views
}

type writeInput struct {
	FilePath string  `json:"file_path"`
	Content  *string `json:"content"`
}

func (*writeTool) Spec() tool.Spec {
	return tool.Spec{Name: "Write", Description: writeDescription, Schema: json.RawMessage(writeSchema)}
}

func (t *writeTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in writeInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	if in.Content == nil {
		return tool.Errorf("Write needs content, the whole new text of the file; nothing was written"), nil
	}
	path, real, err := t.at.locate(c, in.FilePath)
	if err != nil {
		return failure(err), nil
	}
	if err := creatable(real); err != nil {
		return failure(err), nil
	}
	if err := makeFolder(real); err != nil {
		return failure(fmt.Errorf("make the folder of %s: %w", path, err)), nil
	}
	content, created := []byte(*in.Content), false
	err = update(ctx, real, func(old []byte, exists bool) ([]byte, error) {
		created = !exists
		return content, t.mayReplace(path, real, old, exists)
	})
	if err != nil {
		return failure(err), nil
	}
	t.seen.wrote(real, content)
	return t.report(path, content, created), nil
}

func (t *writeTool) report(path string, content []byte, created bool) tool.Result {
	verb := "Replaced"
	if created {
		verb = "Created"
	}
	return tool.Result{Text: fmt.Sprintf("%s %s: %s, %s.", verb, t.at.show(path), inLines(content), size(int64(len(content))))}
}

// makeFolder makes the folder of a file, and those above it.
func makeFolder(real string) error {
	root, err := nolink.Root(filepath.Dir(real), true)
	if err != nil {
		return err
	}
	return root.Close()
}

// creatable refuses places in which no file may be created.
func creatable(real string) error {
	err := checkKind(real)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// mayReplace refuses to overwrite content that the agent has not seen.
func (t *writeTool) mayReplace(path, real string, old []byte, exists bool) error {
	if !exists {
		return nil
	}
	v, known := t.seen.get(real)
	switch {
	case v.whole(digestOf(old)):
		return nil
	case !known:
		return fmt.Errorf("%s exists and was not read yet; Read it before writing over it. Nothing was written", path)
	case v.sum == digestOf(old):
		return fmt.Errorf("only lines 1-%d of the %d lines of %s were read; Read the rest, or change a part with Edit. Nothing was written", v.upTo, v.lines, path)
	}
	return &staleError{path: path, now: t.seen.conflict(real, old)}
}

// staleError reports that a file changed since the agent read it.
type staleError struct {
	path string
	now  string // the present content, numbered, if it is short
}

func (e *staleError) Error() string {
	if e.now == "" {
		return fmt.Sprintf("%s has changed since it was read (by a person, another agent or a command); Read it again. Nothing was written", e.path)
	}
	return fmt.Sprintf("%s has changed since it was read (by a person, another agent or a command). Nothing was written. This is its content now:\n%s", e.path, e.now)
}

// conflictBytes is how much of the current content a conflict shows.
const conflictBytes = 8 << 10

// conflict returns the current content for a stale writer, if it is short text, and records
// that it was shown.
func (s *views) conflict(real string, content []byte) string {
	if len(content) == 0 || len(content) > conflictBytes || !utf8.Valid(content) || binaryKind(content[:min(len(content), sniffLen)]) != "" {
		return ""
	}
	n := countLines(content)
	s.showed(real, digestOf(content), n, span{1, n})
	return numbered(content, span{1, n})
}
