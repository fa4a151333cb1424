package dataplane

import (
	"encoding/binary"
	"net/netip"
)

// proxyHeader returns the header of the PROXY protocol, version 2, that tells a server who the client is and which address it
// asked for. All addresses here are IPv4.
func proxyHeader(protocol string, client, listener netip.AddrPort) []byte {
	const versionAndCommand, overTCP, overUDP, addresses = 0x21, 0x11, 0x12, 12
	family := byte(overTCP)
	if protocol == protoUDP {
		family = overUDP
	}
	header := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), versionAndCommand, family)
	header = binary.BigEndian.AppendUint16(header, addresses)
	source, destination := client.Addr().As4(), listener.Addr().As4()
	header = append(header, source[:]...)
	header = append(header, destination[:]...)
	header = binary.BigEndian.AppendUint16(header, client.Port())
	return binary.BigEndian.AppendUint16(header, listener.Port())
}
