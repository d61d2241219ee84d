package session

import "net"

// Off is Listen and ListenWebSocket for a session that has listened before
// and is not to.
const Off = "off"

// Listens returns where a listener is opened at an address, "" for none.
func Listens(address string) string {
	if address == Off {
		return ""
	}
	return address
}

// TakesAnyPort reports that where the session listens is known only while it runs.
func (i Info) TakesAnyPort() bool {
	for _, address := range []string{i.Listen, i.ListenWebSocket} {
		if _, port, err := net.SplitHostPort(Listens(address)); err == nil && port == "0" {
			return true
		}
	}
	return false
}
