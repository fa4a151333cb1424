package ecs

import (
	"cmp"
	"crypto/md5"  //nolint:gosec // the cloud shows fingerprints of this kind
	"crypto/rand" // of keys that protect nothing
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func keyPairActions() []api.Action {
	name := api.Required("KeyPairName")
	codes := api.Words(`InvalidKeyPairName.Malformed KeyPair.AlreadyExist InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey
		QuotaExceed.Tags`)
	names := api.Param{Name: "KeyPairNames", Kind: api.JSON, Required: true}
	instances := api.Param{Name: "InstanceIds", Kind: api.JSON, Required: true}
	return []api.Action{
		api.Write("CreateKeyPair", createKeyPair, codes, region(), name, api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Write("ImportKeyPair", importKeyPair, append([]string{"InvalidPublicKeyBody.Malformed"}, codes...), region(), name,
			api.Required("PublicKeyBody"), api.Optional("ResourceGroupId"), tags.Uncounted()),
		api.Read("DescribeKeyPairs", describeKeyPairs, nil, append(listing.Params(50), region(), api.Optional("KeyPairName"),
			api.Optional("KeyPairFingerPrint"), api.Optional("ResourceGroupId"), api.Flag("IncludePublicKey"), tags.Param())...),
		api.Write("DeleteKeyPairs", deleteKeyPairs, api.Words("InvalidParameter InvalidParameter.KeypairAlreadyAttachedInstance"), region(),
			names),
		api.Write("AttachKeyPair", api.On(instancesByIDs, attachKeyPair),
			api.Words("InvalidKeyPairName.NotFound InvalidInstanceId.NotFound InvalidParameter"), region(), name, instances),
		api.Write("DetachKeyPair", api.On(instancesByIDs, detachKeyPair),
			api.Words("InvalidKeyPairName.NotFound InvalidInstanceId.NotFound InvalidParameter"), region(), name, instances),
	}
}

func keyPairNotFound() *api.Error {
	return api.NotFound("InvalidKeyPairName.NotFound", "The specified KeyPairName does not exist.")
}

// newKeyPair makes a pair of a call's name and tags.
func newKeyPair(c *api.Context, publicKey, fingerprint string) *api.Error {
	name, tagged := c.Get("KeyPairName"), tags.FilterOf(c)
	switch {
	case !validName(name):
		return api.BadRequest("InvalidKeyPairName.Malformed", "The specified KeyPairName is not valid.")
	case c.State.KeyPairs[name] != nil:
		return api.BadRequest("KeyPair.AlreadyExist", "The key pair %s exists already.", name)
	}
	if err := checkNewTags(c, tagged); err != nil {
		return err
	}
	c.State.KeyPairs[name] = &state.KeyPair{
		ID: name, Fingerprint: fingerprint, PublicKey: publicKey, Tags: tagged, ResourceGroupID: c.Get("ResourceGroupId"), Created: c.Now,
	}
	return nil
}

func createKeyPair(c *api.Context) (any, *api.Error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, &api.Error{Status: 500, Code: "InternalError", Message: err.Error()}
	}
	fingerprint := fingerprintOf(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	if err := newKeyPair(c, "", fingerprint); err != nil {
		return nil, err
	}
	body := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return api.Object{
		"KeyPairId", "ssh-" + fingerprint[:20], "KeyPairName", c.Get("KeyPairName"), "KeyPairFingerPrint", fingerprint,
		"PrivateKeyBody", string(body),
	}, nil
}

func fingerprintOf(key []byte) string {
	sum := md5.Sum(key) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

func importKeyPair(c *api.Context) (any, *api.Error) {
	fields := strings.Fields(c.Get("PublicKeyBody"))
	if len(fields) < 2 || fields[0] != "ssh-rsa" {
		return nil, api.BadRequest("InvalidPublicKeyBody.Malformed", "The specified PublicKeyBody is no public key of RSA.")
	}
	raw, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return nil, api.BadRequest("InvalidPublicKeyBody.Malformed", "The specified PublicKeyBody is not encoded in Base64.")
	}
	if err := newKeyPair(c, c.Get("PublicKeyBody"), fingerprintOf(raw)); err != nil {
		return nil, err
	}
	return api.Object{"KeyPairName", c.Get("KeyPairName"), "KeyPairFingerPrint", fingerprintOf(raw)}, nil
}

func describeKeyPairs(c *api.Context) (any, *api.Error) {
	filter := tags.FilterOf(c)
	matching := listing.Find(c.State.KeyPairs, func(k *state.KeyPair) bool {
		return wildcard(c.Get("KeyPairName"), k.ID) && listing.Match(c.Get("KeyPairFingerPrint"), k.Fingerprint) &&
			listing.Match(c.Get("ResourceGroupId"), cmp.Or(k.ResourceGroupID, state.DefaultResourceGroup)) && filter.Match(k.Tags)
	})
	return listing.Answer(c, matching, "KeyPairs", "KeyPair", func(k *state.KeyPair) api.Object {
		public := ""
		if c.True("IncludePublicKey") {
			public = k.PublicKey
		}
		return api.Object{
			"KeyPairName", k.ID, "KeyPairFingerPrint", k.Fingerprint, "PublicKey", public, "CreationTime", timeText(k.Created),
			"ResourceGroupId", cmp.Or(k.ResourceGroupID, state.DefaultResourceGroup), "Tags", tags.Longs(k.Tags),
		}
	})
}

// deleteKeyPairs removes those that there are; the others are gone already.
func deleteKeyPairs(c *api.Context) (any, *api.Error) {
	var names []string
	if json.Unmarshal([]byte(c.Get("KeyPairNames")), &names) != nil {
		return nil, api.Invalid("KeyPairNames")
	}
	for _, i := range c.State.Instances {
		if i.KeyPairName != "" && slices.Contains(names, i.KeyPairName) {
			return nil, api.BadRequest("InvalidParameter.KeypairAlreadyAttachedInstance", "The key pair %s is attached to %s.", i.KeyPairName, i.ID)
		}
	}
	for _, name := range names {
		delete(c.State.KeyPairs, name)
	}
	return nil, nil
}

func attachKeyPair(c *api.Context, instances []*state.Instance) (any, *api.Error) {
	return keyPairOf(c, instances, func(i *state.Instance) { i.KeyPairName = c.Get("KeyPairName") })
}

func detachKeyPair(c *api.Context, instances []*state.Instance) (any, *api.Error) {
	return keyPairOf(c, instances, func(i *state.Instance) {
		if i.KeyPairName == c.Get("KeyPairName") {
			i.KeyPairName = ""
		}
	})
}

// keyPairOf changes the key pair of instances and answers with the result for each.
func keyPairOf(c *api.Context, instances []*state.Instance, apply func(*state.Instance)) (any, *api.Error) {
	if c.State.KeyPairs[c.Get("KeyPairName")] == nil {
		return nil, keyPairNotFound()
	}
	for _, i := range instances {
		apply(i)
	}
	return api.Object{
		"KeyPairName", c.Get("KeyPairName"), "TotalCount", len(instances), "FailCount", 0,
		"Results", api.Object{"Result", api.Objects(instances, func(i *state.Instance) api.Object {
			return api.Object{"InstanceId", i.ID, "Success", true, "Code", "200", "Message", "successful"}
		})},
	}, nil
}
