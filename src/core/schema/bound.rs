//! A static upper bound for the work that a schema can cause on a value.
//!
//! For every number of levels below the value under check the bound knows how much work one value there can
//! receive, as the sum over all ways through `anyOf`, `allOf`, references and the like (`Survey` finds these).
//! The bound of a check is the sum over the levels of that work times the size of the value at and below the
//! level. Most schemas cause so little work per value that the value need not even be measured.

use jsonschema::Draft;
use serde_json::Value;

use super::survey::{Subschema, Survey};
use super::violation::{SchemaError, ValidationLimit};

/// Most work of one check. A unit is a simple keyword on a simple value: some tens of nanoseconds.
const MAX_WORK: u64 = 4_000_000;
/// Most work on one value that needs no measuring of the value.
const PLAIN_WORK: u64 = 32;
/// Most work on one value at one level; beyond it the schema itself is refused.
const MAX_LEVEL_WORK: u64 = 1_000_000;
/// Most nested steps of the validator, which recurses: keeps within a small thread's stack.
const MAX_STEPS: usize = 600;

/// Work on one value at one level.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// To learn whether it is valid.
    verdict: u64,
    /// To list the reasons: every nested combinator is judged and then judged again.
    reasons: u64,
    /// Nested steps down to this level.
    steps: usize,
}

/// Whether reasons can be listed.
pub(crate) enum ReasonsCost {
    Affordable,
    TooCostly,
}

/// The bound of one schema.
#[derive(Debug)]
pub(crate) struct Bound {
    /// By the number of levels below the value under check; empty levels at the end are left out.
    levels: Vec<Work>,
    plain: bool,
    draft: Draft,
}

impl Bound {
    pub(crate) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let survey = Survey::of(schema)?;
        let order = in_place_order(&survey.places)?;
        let mut levels = Vec::new();
        let mut above: Vec<Work> = Vec::new();
        for level in 0..=ValidationLimit::MAX_DEPTH {
            above = next_level(&survey.places, &order, &above, level);
            let work = above.first().copied().unwrap_or_default();
            if work.verdict > MAX_LEVEL_WORK {
                return Err(SchemaError::TooCostly);
            }
            levels.push(work);
            if above.iter().all(|work| work.verdict == 0) {
                break;
            }
        }
        let plain = levels.len() <= ValidationLimit::MAX_DEPTH
            && levels
                .iter()
                .all(|work| work.verdict <= PLAIN_WORK && work.steps <= MAX_STEPS);
        Ok(Self {
            levels,
            plain,
            draft: survey.draft,
        })
    }

    pub(crate) fn draft(&self) -> Draft {
        self.draft
    }

    /// Whether a verdict on this value is affordable.
    pub(crate) fn admit(&self, instance: &Value) -> Result<(), ValidationLimit> {
        if self.plain {
            return Ok(());
        }
        let sizes = sizes(instance)?;
        let steps = self
            .levels
            .get(sizes.len() - 1)
            .or(self.levels.last())
            .map_or(0, |work| work.steps);
        if steps > MAX_STEPS {
            return Err(ValidationLimit::TooDeep);
        }
        if self.total(&sizes, |work| work.verdict) > MAX_WORK {
            Err(ValidationLimit::TooCostly)
        } else {
            Ok(())
        }
    }

    /// Whether the reasons are affordable too.
    pub(crate) fn reasons(&self, instance: &Value) -> ReasonsCost {
        match sizes(instance) {
            Ok(sizes) if self.total(&sizes, |work| work.reasons) <= MAX_WORK => {
                ReasonsCost::Affordable
            }
            _ => ReasonsCost::TooCostly,
        }
    }

    fn total(&self, sizes: &[u64], part: fn(&Work) -> u64) -> u64 {
        let products = self
            .levels
            .iter()
            .zip(sizes)
            .map(|(work, size)| part(work).saturating_mul(*size));
        products.fold(0, u64::saturating_add)
    }
}

/// Size of a value by level: the values at and below the level, sixteen bytes of text counting as one value.
fn sizes(instance: &Value) -> Result<Vec<u64>, ValidationLimit> {
    let mut sizes = Vec::new();
    measure(instance, 0, &mut sizes)?;
    for level in (1..sizes.len()).rev() {
        sizes[level - 1] += sizes[level];
    }
    Ok(sizes)
}

fn measure(value: &Value, level: usize, sizes: &mut Vec<u64>) -> Result<(), ValidationLimit> {
    if level > ValidationLimit::MAX_DEPTH {
        return Err(ValidationLimit::TooDeep);
    }
    if sizes.len() == level {
        sizes.push(0);
    }
    sizes[level] += 1;
    match value {
        Value::String(text) => sizes[level] += text.len() as u64 / 16,
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| measure(item, level + 1, sizes))?,
        Value::Object(map) => {
            for (key, item) in map {
                sizes[level] += key.len() as u64 / 16;
                measure(item, level + 1, sizes)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The places so that everything which a place applies to the same value comes before it.
fn in_place_order(places: &[Subschema]) -> Result<Vec<usize>, SchemaError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; places.len()];
    let mut order = Vec::with_capacity(places.len());
    for start in 0..places.len() {
        let mut stack = vec![(start, 0)];
        while let Some((place, next)) = stack.pop() {
            if next == 0 {
                match marks[place] {
                    Mark::Done => continue,
                    Mark::Open => return Err(SchemaError::Loop),
                    Mark::New => marks[place] = Mark::Open,
                }
            }
            if let Some(&below) = places[place].same.get(next) {
                stack.push((place, next + 1));
                stack.push((below, 0));
            } else {
                marks[place] = Mark::Done;
                order.push(place);
            }
        }
    }
    Ok(order)
}

/// Work of every place on a value `level` levels below, from the work one level less below.
fn next_level(places: &[Subschema], order: &[usize], above: &[Work], level: usize) -> Vec<Work> {
    let mut now = vec![Work::default(); places.len()];
    for &at in order {
        let place = &places[at];
        let mut work = match level {
            0 => Work {
                verdict: place.weight,
                reasons: place.weight,
                steps: 0,
            },
            1 => Work {
                verdict: place.child_weight,
                reasons: place.child_weight,
                steps: 0,
            },
            _ => Work::default(),
        };
        let mut nested_reasons = 0_u64;
        for &same in &place.same {
            let inner = now[same];
            let times = if place.again {
                inner.verdict.saturating_add(inner.reasons)
            } else {
                0
            };
            work.verdict = work
                .verdict
                .saturating_add(inner.verdict)
                .saturating_add(times);
            nested_reasons = nested_reasons.saturating_add(inner.reasons);
            work.steps = work.steps.max(inner.steps);
        }
        if let Some(children) = children(place, above) {
            work.verdict = work.verdict.saturating_add(children.verdict);
            nested_reasons = nested_reasons.saturating_add(children.reasons);
            work.steps = work.steps.max(children.steps);
        }
        work.reasons = if level == 0 || work.verdict > 0 {
            work.verdict.saturating_add(nested_reasons)
        } else {
            0
        };
        work.steps += 1;
        now[at] = work;
    }
    now
}

/// Work on a child: every `each_child`, and the most costly of those that exclude each other.
fn children(place: &Subschema, above: &[Work]) -> Option<Work> {
    if above.is_empty() {
        return None;
    }
    let mut work = Work::default();
    for &child in &place.each_child {
        work.verdict = work.verdict.saturating_add(above[child].verdict);
        work.reasons = work.reasons.saturating_add(above[child].reasons);
        work.steps = work.steps.max(above[child].steps);
    }
    let most = |part: fn(&Work) -> u64| {
        place
            .one_per_child
            .iter()
            .map(|&child| part(&above[child]))
            .max()
            .unwrap_or(0)
    };
    work.verdict = work.verdict.saturating_add(most(|work| work.verdict));
    work.reasons = work.reasons.saturating_add(most(|work| work.reasons));
    work.steps = place
        .one_per_child
        .iter()
        .map(|&child| above[child].steps)
        .fold(work.steps, usize::max);
    Some(work)
}
