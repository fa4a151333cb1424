package cas_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/cas"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m, cas.Product()) }
