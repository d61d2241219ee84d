package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
)

// tasksPath returns the path of the copy of a task list; "" is the session's own.
func tasksPath(info session.Info, list string) string {
	if list == "" {
		return filepath.Join(info.Path, "tasks.json")
	}
	return filepath.Join(info.Path, "tasks-"+statefile.Name(list)+".json")
}

// WriteTasks writes a copy of a task list, which is shown while the session does not run;
// list "" is the session's own.
func WriteTasks(info session.Info, list string, tasks []board.Task) error {
	raw, err := json.MarshalIndent(tasks, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the task list: %w", err)
	}
	return statefile.Write(tasksPath(info, list), raw)
}

// ReadTasks returns the tasks of a list as they were when the session last ran.
func ReadTasks(info session.Info, list string) ([]board.Task, error) {
	path := tasksPath(info, list)
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the task list of session %s: %w", info.ID, err)
	}
	var all []board.Task
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the task list %s is damaged: %w", path, err)
	}
	return all, nil
}
