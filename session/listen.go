package session

import "net"

// Off is the value of Listen and ListenWebSocket for a session that has listened before and
// must not listen again.
const Off = "off"

// Listens returns the address at which a listener opens, "" for none.
func Listens(address string) string {
	if address == Off {
		return ""
	}
	return address
}

// TakesAnyPort reports that the port of the session is known only while it runs.
func (i Info) TakesAnyPort() bool {
	for _, address := range []string{i.Listen, i.ListenWebSocket} {
		if _, port, err := net.SplitHostPort(Listens(address)); err == nil && port == "0" {
			return true
		}
	}
	return false
}
