package state

import "time"

// Certificate is a server or CA certificate.
type Certificate struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	CA         bool      `json:"ca,omitempty"`
	CommonName string    `json:"commonName"`
	Expires    time.Time `json:"expires"`
	Created    time.Time `json:"created"`
	PEM        string    `json:"pem,omitempty"`
	Tags       []Tag     `json:"tags,omitempty"`

	ResourceGroupID string `json:"resourceGroupId,omitempty"` // "": the account's own; the same in access control lists
}

// CipherPolicy is a TLS cipher policy for HTTPS listeners of SLB.
type CipherPolicy struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	TLSVersions []string  `json:"tlsVersions"`
	Ciphers     []string  `json:"ciphers"`
	Created     time.Time `json:"created"`
	// BusyUntil is when the last change is in force.
	BusyUntil time.Time `json:"busyUntil,omitzero"`
	Spelling  Spelling  `json:"spelling,omitempty"`
}

// UserCertificate is a certificate of the Certificate Management Service.
type UserCertificate struct {
	ID      string    `json:"id"` // a number
	Name    string    `json:"name"`
	PEM     string    `json:"pem,omitempty"` // with the private key where load balancers carry traffic
	CA      bool      `json:"ca,omitempty"`  // of an authority, for the certificates of clients
	Created time.Time `json:"created,omitzero"`

	ResourceGroupID string `json:"resourceGroupId,omitempty"`
	Tags            []Tag  `json:"tags,omitempty"`
}
