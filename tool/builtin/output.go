package builtin

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/tool"
)

// maxTail is how many bytes at the end of a command's output one result shows.
const maxTail = 30_000

// Output implements Background.
func (b *bashTool) Output(ctx context.Context, id string) (r tool.Result, known bool) {
	t := b.task(id)
	if t == nil {
		return tool.Result{}, false
	}
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	info := t.snapshot()
	text, err := tail(info.Output, maxTail)
	if err != nil {
		return failure(fmt.Errorf("read the output of %s: %w", id, err)), true
	}
	head := fmt.Sprintf("Background command %s: %s", id, info.State)
	if info.State != TaskRunning {
		head += fmt.Sprintf(", exit code %d", info.ExitCode)
	}
	if text == "" {
		return tool.Result{Text: head + ". It has printed nothing.", Detail: bashDetail{TaskID: id, Path: info.Output}.encode()}, true
	}
	return tool.Result{Text: head + ". Output (all of it is in " + info.Output + "):\n" + text, Detail: bashDetail{TaskID: id, Path: info.Output}.encode()}, true
}

// task returns the background command of an id, or nil.
func (b *bashTool) task(id string) *task {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tasks {
		if t.info.ID == id { // the id never changes
			return t
		}
	}
	return nil
}

// tail returns the end of a file, at most n bytes of it. A command can write where its
// output is, and put a link in its place.
func tail(path string, n int64) (string, error) {
	dir, err := nolink.Resolve(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	f, info, err := openRegular(filepath.Join(dir, filepath.Base(path)))
	if err != nil {
		return "", err
	}
	defer f.Close()
	from := max(info.Size()-n, 0)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, n))
	if err != nil || from == 0 {
		return string(raw), err
	}
	return fmt.Sprintf("(the first %d bytes are left out)\n%s", from, raw), nil
}
