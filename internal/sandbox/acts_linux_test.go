package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestActs is what commands of other tests run: this program again, to do one thing and
// say whether it could.
func TestActs(t *testing.T) {
	act := map[string]func(arg string) error{
		"tcp":  func(arg string) error { return dial("tcp", arg) },
		"udp":  func(arg string) error { return dial("udp", arg) },
		"unix": func(arg string) error { return dial("unix", arg) },
		"listen": func(string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			return l.Close()
		},
		"socket": func(family string) error {
			_, err := unix.Socket(number(family), unix.SOCK_DGRAM, 0)
			return err
		},
		"pair": func(string) error {
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		},
		"ptrace":  func(arg string) error { return unix.PtraceAttach(number(arg)) },
		"memory":  readMemory,
		"signal":  func(arg string) error { return unix.Kill(number(arg), 0) },
		"keyring": func(string) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
		"mark":    func(string) error { return childMark() },
		"daemon":  daemon,
	}[os.Getenv("ACT")]
	if act == nil {
		t.Skip("a part of other tests")
	}
	if err := act(os.Getenv("ARG")); err != nil {
		fmt.Printf("could not: %v\n", err)
		os.Exit(1)
	}
	fmt.Println("could")
	os.Exit(0)
}

// acts returns the shell command that does it.
func acts(act, arg string) string {
	return fmt.Sprintf(`GORACE=atexit_sleep_ms=0 ACT=%s ARG=%s "$SELF" -test.run='^TestActs$'`, act, arg)
}

func dial(network, to string) error {
	c, err := net.DialTimeout(network, to, 5*time.Second)
	if err != nil {
		return err
	}
	if _, err = c.Write([]byte("x")); err != nil || network != "tcp" || os.Getenv("TAKEN") == "" {
		return err
	}
	_, _ = c.Read(make([]byte, 1)) // the end, when the other side has taken the connection
	return nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// readMemory reads the stack of a process in one of two ways.
func readMemory(arg string) error {
	f, err := os.Open("/proc/" + arg + "/mem")
	if err != nil {
		return err
	}
	return f.Close()
}

// childMark says what marks a child has that has shed all that it can.
func childMark() error {
	out, err := exec.Command("setsid", "env", "-i", "/bin/cat", "/proc/self/status").Output()
	fmt.Printf("%s", out)
	return err
}

// daemon leaves a process that has shed its environment, its descriptors, its session
// and its parent, ignores what can be ignored, and forks on.
func daemon(arg string) error {
	switch arg {
	case "3":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		if err := os.WriteFile(os.Getenv("PIDFILE"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return err
		}
		time.Sleep(time.Hour)
		return nil
	}
	cmd := exec.Command(self(), "-test.run=^TestActs$")
	cmd.Env = []string{"ACT=daemon", "ARG=" + strconv.Itoa(number(arg)+1), "PIDFILE=" + os.Getenv("PIDFILE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
