//! What tokens cost: a dated table of models, which a file of the user's may add to and override. A model that
//! is in neither has no price.

use super::tokens::Tokens;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// An amount of money in millionths of a millionth of a US dollar: sums over tokens are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(u64);

impl Cost {
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `None` for what is no amount, and for nothing: that is recorded where a price is not known.
    pub(super) fn of_dollars(dollars: f64) -> Option<Self> {
        let is_amount = dollars.is_finite() && dollars > 0.0;
        is_amount.then(|| Self((dollars * 1e12).round() as u64))
    }

    pub fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// What is left without a part.
    pub(super) fn without(self, part: Self) -> Self {
        Self(self.0.saturating_sub(part.0))
    }

    pub fn raw(self) -> u64 {
        self.0
    }

    pub(super) fn of_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// This many parts of a whole of `all` parts.
    pub(super) fn share(self, part: u64, all: u64) -> Self {
        let share = u128::from(self.0) * u128::from(part) / u128::from(all.max(1));
        Self(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        let text = match dollars {
            0.0 => "$0".to_owned(),
            ..0.0005 => "<$0.001".to_owned(),
            ..0.0995 => format!("${dollars:.3}"),
            ..1000.0 => format!("${dollars:.2}"),
            _ => format!("${dollars:.0}"),
        };
        f.pad(&text)
    }
}

/// A price for each token, in millionths of a millionth of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TokenPrice(u64);

impl TokenPrice {
    fn of(self, tokens: u64) -> Cost {
        Cost(self.0.saturating_mul(tokens))
    }
}

/// Files give US dollars per million tokens.
impl<'de> Deserialize<'de> for TokenPrice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        match (0.0..1e6).contains(&dollars) {
            true => Ok(Self((dollars * 1e6).round() as u64)),
            false => Err(serde::de::Error::custom(
                "a price is in US dollars per million tokens, 0 or more",
            )),
        }
    }
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// How many tokens it takes at most.
    pub window: Option<u64>,
    input: TokenPrice,
    #[serde(alias = "cache_read")]
    cached: Option<TokenPrice>,
    #[serde(alias = "cache_write")]
    written: Option<TokenPrice>,
    #[serde(alias = "cache_write_1h")]
    written_1h: Option<TokenPrice>,
    output: TokenPrice,
    long: Option<LongPrices>,
}

/// Prices of requests that send more than `above` tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongPrices {
    above: u64,
    input: TokenPrice,
    #[serde(alias = "cache_read")]
    cached: Option<TokenPrice>,
    #[serde(alias = "cache_write")]
    written: Option<TokenPrice>,
    output: Option<TokenPrice>,
}

/// What a request and its reply cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCost {
    /// What was sent, whether it was cached or not.
    pub input: Cost,
    pub all: Cost,
}

impl RequestCost {
    /// What a recording says in US dollars, as the member `cost` of its usage: the sum, or an object of the parts.
    /// Where it does not say what was paid for the input, that is shared out by `tokens`.
    pub(super) fn recorded(cost: &Value, tokens: &Tokens) -> Option<Self> {
        let dollars = |value: &Value| {
            let text = value.as_str().and_then(|text| text.parse().ok());
            Cost::of_dollars(value.as_f64().or(text)?)
        };
        let part = |names: [&str; 2]| names.iter().find_map(|name| dollars(&cost[*name]));
        let (input, output) = (
            part(["input", "input_cost"]),
            part(["output", "output_cost"]),
        );
        let all = dollars(cost).or_else(|| part(["total", "total_cost"]));
        let all = all.or_else(|| {
            let mut sum = input.or(output)?;
            sum.add(output.filter(|_| input.is_some()).unwrap_or_default());
            Some(sum)
        })?;
        let sent = all.share(tokens.input, tokens.input.saturating_add(tokens.output));
        let input = output.map_or(input.unwrap_or(sent), |output| all.without(output));
        Some(Self { input, all })
    }
}

impl ModelPrice {
    pub fn cost(&self, tokens: &Tokens) -> RequestCost {
        let long = self.long.as_ref().filter(|it| tokens.input > it.above);
        let plain = long.map_or(self.input, |long| long.input);
        let cached = long.map_or(self.cached, |long| long.cached.or(self.cached));
        let written = long.map_or(self.written, |long| long.written.or(self.written));
        let output = long.and_then(|long| long.output).unwrap_or(self.output);
        let mut input = plain.of(tokens.plain());
        input.add(cached.unwrap_or(plain).of(tokens.cached));
        input.add(written.unwrap_or(plain).of(tokens.written));
        let kept = self.written_1h.or(written).unwrap_or(plain);
        input.add(kept.of(tokens.written_1h));
        let mut all = input;
        all.add(output.of(tokens.output));
        RequestCost { input, all }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Prices {
    models: Arc<HashMap<String, ModelPrice>>,
    /// Those of the user, which come first.
    own: Arc<HashMap<String, ModelPrice>>,
}

/// Why a file of prices cannot be used, with the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct PriceError {
    line: usize,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    /// When the prices were looked up, for the reader.
    #[serde(rename = "date")]
    _date: Option<toml::Value>,
    #[serde(default)]
    models: HashMap<String, ModelPrice>,
}

/// A model without the date of its snapshot: `claude-sonnet-4-5` of `claude-sonnet-4-5-20250929`.
pub fn model_name(model: &str) -> &str {
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let lengths = ["-20250929".len(), "-2025-09-29".len()];
    let cut = lengths.iter().find_map(|length| {
        let (name, date) = model.split_at_checked(model.len().checked_sub(*length)?)?;
        let date = date.strip_prefix('-')?;
        (is_date(date) && date.starts_with("20") && !name.is_empty()).then_some(name)
    });
    cut.unwrap_or(model)
}

/// How some programs name whose model it is.
const OWNERS: [&str; 5] = ["anthropic/", "openai/", "google/", "gemini/", "models/"];

impl Prices {
    /// The table of the program.
    pub fn built_in() -> Self {
        static TABLE: OnceLock<Prices> = OnceLock::new();
        // A test reads the table.
        let table = TABLE.get_or_init(|| {
            let models = models_of(include_str!("prices.toml")).unwrap_or_default();
            Self {
                models: Arc::new(models),
                ..Self::default()
            }
        });
        table.clone()
    }

    /// The same with what a file says instead or besides.
    pub fn overridden(mut self, file: &str) -> Result<Self, PriceError> {
        Arc::make_mut(&mut self.own).extend(models_of(file)?);
        Ok(self)
    }

    /// What is known of a model; nothing is concluded from names that are alike. What the user says of a model holds
    /// for its dated snapshots.
    pub fn model(&self, name: &str) -> Option<&ModelPrice> {
        let bare = OWNERS.iter().find_map(|owner| name.strip_prefix(owner));
        let names = [Some(name), bare].into_iter().flatten();
        let own = |name: &str| {
            self.own
                .get(name)
                .or_else(|| self.own.get(model_name(name)))
        };
        let mut known = names.clone().filter_map(own);
        known
            .next()
            .or_else(|| names.filter_map(|name| self.models.get(name)).next())
    }
}

fn models_of(file: &str) -> Result<HashMap<String, ModelPrice>, PriceError> {
    let file: PriceFile = toml::from_str(file).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        PriceError {
            line: file[..start.min(file.len())].matches('\n').count() + 1,
            message: error.message().to_owned(),
        }
    })?;
    Ok(file.models)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let prices = Prices::built_in();
        assert!(prices.models.len() > 100, "{}", prices.models.len());
        let sonnet = prices.model("claude-sonnet-4-5").unwrap();
        assert_eq!(sonnet.window, Some(200_000));
        let tokens = Tokens {
            input: 4_000_000,
            cached: 1_000_000,
            written: 1_000_000,
            written_1h: 1_000_000,
            output: 1_000_000,
            reasoning: 0,
        };
        let cost = sonnet.cost(&tokens);
        assert_eq!(cost.input.dollars(), 3.0 + 0.3 + 3.75 + 6.0);
        assert_eq!(cost.all.dollars(), cost.input.dollars() + 15.0);
        let gemini = prices.model("google/gemini-2.5-pro").unwrap();
        let short = Tokens {
            input: 200_000,
            ..Tokens::default()
        };
        let long = Tokens {
            input: 400_000,
            ..Tokens::default()
        };
        assert_eq!(gemini.cost(&short).all.to_string(), "$0.25");
        assert_eq!(gemini.cost(&long).all.to_string(), "$1.00");
    }

    #[test]
    fn prices_of_the_cache_have_the_names_that_providers_give_them_too() {
        let file = "[models]\na = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75, cache_write_1h = 6 }\n\
            b = { input = 3, output = 15, cached = 0.3, written = 3.75, written_1h = 6 }\n";
        let prices = Prices::built_in().overridden(file).unwrap();
        assert_eq!(prices.model("a"), prices.model("b"));
        let fault =
            Prices::built_in().overridden("[models]\na = { input = 3, output = 15, cache = 1 }\n");
        let fault = fault.unwrap_err().to_string();
        assert!(
            fault.contains("line 2") && fault.contains("cache_read"),
            "{fault}"
        );
    }

    #[test]
    fn a_file_overrides_and_adds_and_its_faults_have_a_line() {
        let file =
            "[models]\nmine = { input = 0.5, output = 2 }\ngpt-5 = { input = 7, output = 7 }\n";
        let prices = Prices::built_in().overridden(file).unwrap();
        let tokens = Tokens {
            input: 1000,
            ..Tokens::default()
        };
        let cost = |name: &str| Some(prices.model(name)?.cost(&tokens).all.to_string());
        assert_eq!(cost("mine").as_deref(), Some("$0.001"));
        assert_eq!(cost("gpt-5").as_deref(), Some("$0.007"));
        assert_eq!(cost("mine-2"), None);
        for snapshot in [
            "gpt-5-2025-08-07",
            "gpt-5-20250807",
            "openai/gpt-5-2025-08-07",
        ] {
            assert_eq!(cost(snapshot).as_deref(), Some("$0.007"), "{snapshot}");
        }
        assert_ne!(cost("gpt-5-mini").as_deref(), Some("$0.007"));
        let table = [
            (
                "[models]\n\nm = { input = 1 }\n",
                "line 3: missing field `output`",
            ),
            (
                "[models]\nm = { input = -1, output = 1 }\n",
                "line 2: a price is in US dollars",
            ),
            (
                "[models]\nm = { inptu = 1, output = 1 }\n",
                "line 2: unknown field `inptu`",
            ),
        ];
        for (file, expected) in table {
            let error = Prices::default().overridden(file).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_recorded_cost_is_a_sum_or_its_parts() {
        let tokens = Tokens {
            input: 300,
            output: 100,
            ..Tokens::default()
        };
        let parts = |cost: Value| {
            let cost = RequestCost::recorded(&cost, &tokens)?;
            Some((cost.input.dollars(), cost.all.dollars()))
        };
        for (cost, expected) in [
            (json!(0.4), Some((0.3, 0.4))),
            (
                json!({"total": 0.4, "output": 0.3, "input": 0.05, "cacheRead": 0.05}),
                Some((0.1, 0.4)),
            ),
            (
                json!({"total": null, "input": "0.25", "output": 0.5}),
                Some((0.25, 0.75)),
            ),
            (json!({"total": 0.0, "input": 0.0, "output": 0.0}), None),
            (json!("free"), None),
            (json!(-1), None),
        ] {
            assert_eq!(parts(cost.clone()), expected, "{cost}");
        }
    }

    #[test]
    fn amounts_are_short() {
        let amounts = [0.0, 0.0001, 0.0042, 0.0876, 0.834, 12.5, 1234.5];
        let shown = amounts.map(|dollars| Cost((dollars * 1e12) as u64).to_string());
        let expected = [
            "$0", "<$0.001", "$0.004", "$0.088", "$0.83", "$12.50", "$1234",
        ];
        assert_eq!(shown, expected);
    }
}
