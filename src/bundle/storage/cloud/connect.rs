//! The library's client for each scheme, with the credentials of the environment.

use std::str::FromStr;
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use repro_core::source::{Error, Location};

use super::client::{Connector, Leads};
use crate::storage::address::{CloudAddress, is_loopback};
use crate::storage::settings::StoreSettings;
use crate::storage::{BAD_SETTINGS, NO_CREDENTIALS};

/// The variables of which one has to be set, so that nobody else is asked for credentials: without any, libraries ask the network.
struct Credentials {
    scheme: &'static str,
    variables: &'static [&'static str],
    /// The help for a user who has set none of them.
    help: &'static str,
    /// Where the server is, if it is another than that of the provider.
    server: &'static [&'static str],
}

const CREDENTIALS: &[Credentials] = &[
    Credentials {
        scheme: "s3",
        variables: &[
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_SKIP_SIGNATURE",
        ],
        help: "set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, as `eval \"$(aws configure export-credentials --format env)\"` does; for a \
               public bucket `AWS_SKIP_SIGNATURE=true`",
        server: &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
    },
    Credentials {
        scheme: "gs",
        variables: &[
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_SKIP_SIGNATURE",
        ],
        help: "set `GOOGLE_APPLICATION_CREDENTIALS` to the file of a service account; for a public bucket `GOOGLE_SKIP_SIGNATURE=true`",
        server: &["GOOGLE_BASE_URL"],
    },
    Credentials {
        scheme: "az",
        variables: &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_SKIP_SIGNATURE",
        ],
        help: "set `AZURE_STORAGE_ACCOUNT_NAME` and `AZURE_STORAGE_ACCOUNT_KEY` or `AZURE_STORAGE_SAS_TOKEN`; for a public container \
               `AZURE_SKIP_SIGNATURE=true`",
        server: &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"],
    },
];

/// The objects of a bucket, a container or a server.
pub fn objects(
    address: &CloudAddress,
    shown: &str,
    settings: &StoreSettings,
) -> Result<Arc<dyn ObjectStore>, Error> {
    let credentials = CREDENTIALS.iter().find(|known| known.scheme == address.scheme);
    let is_loopback = match credentials {
        Some(known) => known.check(shown, settings)?,
        None => is_loopback(&address.host),
    };
    let leads = if address.is_server() { Leads::On } else { Leads::ToOne };
    let connector = Connector { leads, limits: settings.limits };
    let options = ClientOptions::new().with_allow_http(is_loopback);
    build(address, settings, options, connector).map_err(|_| {
        let expected = match address.scheme {
            "s3" => "`AWS_…` variables that fit together",
            "gs" => "`GOOGLE_…` variables that fit together",
            "az" => "`AZURE_…` variables that fit together",
            _ => "the system's root certificates",
        };
        BAD_SETTINGS.at(Location::file(shown), expected, "settings that cannot be used together")
    })
}

fn build(
    address: &CloudAddress,
    settings: &StoreSettings,
    options: ClientOptions,
    connector: Connector,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retries = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: connector.limits.retries,
        retry_timeout: connector.limits.retry_time,
    };
    let host = address.host.as_str();
    Ok(match address.scheme {
        "s3" => Arc::new(
            configured(settings, "AWS_", AmazonS3Builder::new(), AmazonS3Builder::with_config)
                .with_bucket_name(host)
                .with_conditional_put(S3ConditionalPut::ETagMatch)
                .with_client_options(options)
                .with_http_connector(connector)
                .with_retry(retries)
                .build()?,
        ),
        "gs" => {
            let (new, with) =
                (GoogleCloudStorageBuilder::new(), GoogleCloudStorageBuilder::with_config);
            Arc::new(
                configured(settings, "GOOGLE_", new, with)
                    .with_bucket_name(host)
                    .with_client_options(options)
                    .with_http_connector(connector)
                    .with_retry(retries)
                    .build()?,
            )
        }
        "az" => {
            let (new, with) = (MicrosoftAzureBuilder::new(), MicrosoftAzureBuilder::with_config);
            Arc::new(
                configured(settings, "AZURE_", new, with)
                    .with_container_name(host)
                    .with_client_options(options)
                    .with_http_connector(connector)
                    .with_retry(retries)
                    .build()?,
            )
        }
        scheme => Arc::new(
            HttpBuilder::new()
                .with_url(format!("{scheme}://{host}"))
                .with_client_options(options)
                .with_http_connector(connector)
                .with_retry(retries)
                .build()?,
        ),
    })
}

/// A builder with the settings of one provider that it knows.
fn configured<B, K: FromStr>(
    settings: &StoreSettings,
    prefix: &str,
    builder: B,
    with: impl Fn(B, K, String) -> B,
) -> B {
    let own = settings.iter().filter(|(name, _)| name.starts_with(prefix));
    let known =
        own.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)));
    known.fold(builder, |builder, (key, value)| with(builder, key, value.to_owned()))
}

impl Credentials {
    /// Checks that there are credentials, and that they are not sent in the clear; answers whether the server is this machine.
    fn check(&self, shown: &str, settings: &StoreSettings) -> Result<bool, Error> {
        if !self.variables.iter().any(|name| settings.get(name).is_some()) {
            let expected = format!("one of `{}` in the environment", self.variables.join("`, `"));
            let error = NO_CREDENTIALS.at(Location::file(shown), expected, "none");
            return Err(error.help(self.help));
        }
        let named = |name: &&'static str| settings.get(name).map(|server| (*name, server));
        for (name, server) in self.server.iter().filter_map(named) {
            let Some((scheme, rest)) = server.split_once("://") else { continue };
            if scheme.eq_ignore_ascii_case("http") {
                if !is_loopback(rest.split('/').next().unwrap_or_default()) {
                    let expected = format!("`https://` in `{name}`, or `http://` to this machine");
                    let found = "`http://` to another machine";
                    return Err(BAD_SETTINGS.at(Location::file(shown), expected, found));
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}
