package cs_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/cs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m, cs.Product()) }
