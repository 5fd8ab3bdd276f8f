//! The report as a page of its own: no script, nothing fetched, bars drawn as SVG, light and dark, good on paper.

use super::results::{
    Results, Standing, TrialResults, baseline_name, corrected_is, end_words, place,
};
use crate::cli::output::counted;
use crate::lab::{CLASSES, Class, Interval};
use crate::safe_text::SafeText;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// The page.
pub(super) fn html(results: &Results<'_>) -> String {
    let mut page = Page(String::new());
    let name = escaped(&results.experiment().name);
    page.add(format_args!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
    ));
    page.opening(results);
    for trial in &results.trials {
        page.trial(trial);
    }
    page.assertions(results);
    page.add(format_args!("</body>\n</html>\n"));
    page.0
}

struct Page(String);

impl Page {
    /// Writing to a text does not fail.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _infallible = self.0.write_fmt(text);
    }

    fn opening(&mut self, results: &Results<'_>) {
        let (there, asked) = results.samples();
        let end = results.end().map_or("it goes on", |end| end_words(end).1);
        let spent = results.board.spent;
        let requests = counted(spent.requests as usize, "request");
        let (input, output) = (spent.usage.input, spent.usage.output);
        let seed = results.experiment().seed;
        self.add(format_args!(
            "<p>{there} of {asked} samples: {end}. {requests}, {input} tokens sent, {output} answered; seed {seed}.</p>\n"
        ));
    }

    fn trial(&mut self, trial: &TrialResults<'_>) {
        let subject = &trial.trial.subject;
        let rule = escaped(&subject.rule);
        self.add(format_args!("<section>\n<h2>{}. {rule}", trial.number));
        if !subject.tool.is_empty() {
            self.add(format_args!(": <code>{}</code>", escaped(&subject.tool)));
        }
        let scripted = match trial.trial.is_scripted {
            true => " <strong>[scripted]</strong>",
            false => "",
        };
        let (place, model) = (escaped(&place(subject)), escaped(&trial.trial.model));
        let corrected = escaped(&corrected_is(&subject.meant));
        self.add(format_args!(
            "</h2>\n<p>{place}; model {model}{scripted}. Corrected: {corrected}.</p>\n"
        ));
        if let Some(end) = trial.end {
            self.add(format_args!("<p>It is over: {}.</p>\n", end_words(end).1));
        }
        self.table(trial);
        self.list(&trial.remarks);
        for standing in &trial.standings {
            self.wording(standing);
        }
        if !trial.journal.is_empty() {
            let path = escaped(&shell_words::quote(&trial.journal));
            self.add(format_args!(
                "<p>Every sample is a take; to open them: <code>retake {path}</code></p>\n"
            ));
        }
        self.add(format_args!("</section>\n"));
    }

    fn table(&mut self, trial: &TrialResults<'_>) {
        let baseline = escaped(baseline_name(trial.baseline()));
        self.add(format_args!(
            "<table>\n<thead><tr><th>wording</th><th class=\"bar\">0 to 100 % corrected</th><th>rate</th><th>95 %</th>\
             <th>vs {baseline}</th><th>answers</th><th>tokens</th><th>ms</th></tr></thead>\n<tbody>\n"
        ));
        for standing in &trial.standings {
            self.row(standing);
        }
        self.add(format_args!("</tbody>\n</table>\n"));
    }

    fn row(&mut self, standing: &Standing<'_>) {
        let name = escaped(&standing.variant.name);
        let title = escaped(&standing.variant.title);
        let bar = drawing(standing);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let rate = standing.rate().map_or_else(String::new, percent);
        let interval = standing.interval().map_or_else(String::new, range);
        let (class, difference) = difference(standing);
        let cost = standing.cost;
        let tokens = cost.map_or_else(String::new, |cost| {
            format!("{:.0} + {:.0}", cost.input, cost.output)
        });
        let ms = cost.map_or_else(String::new, |cost| format!("{:.0}", cost.ms));
        let corrected = standing.corrected;
        self.add(format_args!(
            "<tr><th scope=\"row\" title=\"{title}\">{name}</th><td class=\"bar\">{bar}</td><td>{rate}</td><td>{interval}</td>\
             <td class=\"{class}\">{difference}</td><td>{} of {}</td><td>{tokens}</td><td>{ms}</td></tr>\n",
            corrected.hits(),
            corrected.of()
        ));
    }

    /// The words of a wording and its samples by class.
    fn wording(&mut self, standing: &Standing<'_>) {
        let name = escaped(&standing.variant.name);
        let origin = standing.variant.origin.word();
        let words = escaped(&standing.variant.words);
        self.add(format_args!(
            "<details>\n<summary><b>{name}</b> ({origin})</summary>\n<pre>{words}</pre>\n"
        ));
        for (class, count) in standing.occurred() {
            let (word, meaning) = (class.word(), meaning(class));
            self.add(format_args!(
                "<details>\n<summary>{count} {word}: {meaning}</summary>\n<ol>\n"
            ));
            for (number, sample) in (1..).zip(standing.samples) {
                if sample.class == class {
                    let why = escaped(&sample.why);
                    let take = sample.take.map(|take| format!(" (take {take})"));
                    let take = take.unwrap_or_default();
                    self.add(format_args!("<li value=\"{number}\">{why}{take}</li>\n"));
                }
            }
            self.add(format_args!("</ol>\n</details>\n"));
        }
        self.add(format_args!("</details>\n"));
    }

    fn list(&mut self, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.add(format_args!("<ul>\n"));
        for sentence in sentences {
            self.add(format_args!("<li>{}</li>\n", escaped(sentence)));
        }
        self.add(format_args!("</ul>\n"));
    }

    fn assertions(&mut self, results: &Results<'_>) {
        if results.assertions.is_empty() {
            return;
        }
        self.add(format_args!("<section>\n<h2>Assertions</h2>\n<ul>\n"));
        for assertion in &results.assertions {
            let (word, sentence) = (assertion.verdict.word(), escaped(&assertion.sentence));
            self.add(format_args!(
                "<li><b class=\"{word}\">{word}</b>: {sentence}</li>\n"
            ));
        }
        self.add(format_args!("</ul>\n</section>\n"));
    }
}

/// The rate and its interval on a scale of 100 by 10.
fn drawing(standing: &Standing<'_>) -> String {
    let mut svg =
        "<svg viewBox=\"-1 0 102 10\" preserveAspectRatio=\"none\" role=\"img\"".to_owned();
    let (Some(rate), Some(interval)) = (standing.rate(), standing.interval()) else {
        return svg + " aria-label=\"no answer\"><path class=\"scale\" d=\"M0 5H100\"/></svg>";
    };
    let (rate, low, high) = (rate * 100.0, interval.low * 100.0, interval.high * 100.0);
    let _infallible = write!(
        svg,
        " aria-label=\"{rate:.0} %, between {low:.0} and {high:.0} %\"><path class=\"scale\" d=\"M0 5H100M0 4V6M50 4V6M100 4V6\"/>\
         <path class=\"range\" d=\"M{low:.1} 5H{high:.1}M{low:.1} 2V8M{high:.1} 2V8\"/><rect class=\"rate\" x=\"{:.1}\" y=\"1\" width=\"2\" height=\"8\"/></svg>",
        rate - 1.0
    );
    svg
}

fn range(interval: Interval) -> String {
    format!(
        "{:.0} to {:.0} %",
        interval.low * 100.0,
        interval.high * 100.0
    )
}

/// The class of the cell with the difference, and what stands in it.
fn difference(standing: &Standing<'_>) -> (&'static str, String) {
    let Some(difference) = standing.difference else {
        return ("", String::new());
    };
    let class = match (difference.tells_apart(), difference.value > 0.0) {
        (true, true) => "better",
        (true, false) => "worse",
        (false, _) => "",
    };
    let (low, high) = (difference.interval.low, difference.interval.high);
    // Nothing is added, so that a rounded nothing has no sign of less.
    let points = [difference.value, low, high].map(|share| (share * 100.0).round() + 0.0);
    let [value, low, high] = points.map(|points| format!("{points:+}"));
    (class, format!("{value} ({low} to {high})"))
}

fn meaning(class: Class) -> &'static str {
    let mut classes = CLASSES.iter();
    let found = classes.find(|(known, ..)| *known == class);
    found.map_or("", |(.., meaning)| meaning)
}

/// Text from outside for any place of the page: drawable, and no markup.
fn escaped(text: &str) -> String {
    let safe = SafeText::from_str(text);
    let mut out = String::with_capacity(text.len());
    for character in safe.as_plain().chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_no_markup() {
        assert_eq!(
            escaped("<script>a && 'b' \"c\"</script>"),
            "&lt;script&gt;a &amp;&amp; &#39;b&#39; &quot;c&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("a\u{202e}b"), "a\\u{202e}b");
    }
}
