package natsd

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// logger passes the server's log to slog. A fatal error of nats-server, which would end the
// process with its own logger, becomes an error of Start.
type logger struct {
	out     *slog.Logger
	onError func(line string) // called with each error

	mu    sync.Mutex
	fatal error
}

func newLogger(out *slog.Logger, overhear func(string)) *logger {
	if out == nil {
		out = slog.New(slog.DiscardHandler)
	}
	return &logger{out: out.With("part", "nats"), onError: overhear}
}

func (l *logger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// Fatalf implements server.Logger.
func (l *logger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.out.Error(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = errors.Join(l.fatal, errors.New(text))
}

// Errorf implements server.Logger.
func (l *logger) Errorf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	l.out.Error(line)
	l.onError(line)
}

// Warnf implements server.Logger.
func (l *logger) Warnf(format string, v ...any) { l.out.Warn(fmt.Sprintf(format, v...)) }

// Noticef implements server.Logger.
func (l *logger) Noticef(format string, v ...any) { l.out.Debug(fmt.Sprintf(format, v...)) }

// Debugf implements server.Logger; the server is configured not to call it.
func (l *logger) Debugf(string, ...any) {}

// Tracef implements server.Logger; the server is configured not to call it.
func (l *logger) Tracef(string, ...any) {}
